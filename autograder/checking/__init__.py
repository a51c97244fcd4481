"""Exercises, observations of answers and verdicts; torch and the standard library alone."""
