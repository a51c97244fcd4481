"""The report: one page on what a class understood, from graded submissions."""
