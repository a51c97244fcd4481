"""The report: one page on a class's understanding, from graded submissions."""
