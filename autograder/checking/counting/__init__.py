"""Counts of the work and memory of an answer."""
