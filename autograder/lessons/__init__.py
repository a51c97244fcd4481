"""Lessons: their sources, notebooks and keys."""
