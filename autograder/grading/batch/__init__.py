"""Runs of the grader on the submissions of an assignment."""
