"""Grading with nbgrader: the course folder, its config, and the few steps of nbgrader's that are replaced."""
