"""Grading: the course folder on which nbgrader's commands work."""
