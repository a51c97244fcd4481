"""Grading with nbgrader: course folder, configuration, and our own preprocessors."""
