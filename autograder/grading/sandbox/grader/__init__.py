"""Handles of the fork server and its children, for the grader."""
