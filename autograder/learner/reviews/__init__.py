"""Spaced repetition, variants and placement, from the history of checks."""
