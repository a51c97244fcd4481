"""Grading of submissions as they arrive."""
