"""Spaced repetition of exercises, from the history of checks."""
