"""Grading with nbgrader: course folder, configuration, and replaced preprocessors."""
