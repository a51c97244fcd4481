"""Grades and feedback for learning management systems (LMS)."""
