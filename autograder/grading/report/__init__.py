"""The class report: an HTML page on a class's understanding, from graded submissions."""
