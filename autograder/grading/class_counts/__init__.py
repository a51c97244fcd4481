"""Counts of a class on an assignment: verdicts, mistakes, rows of tables."""
