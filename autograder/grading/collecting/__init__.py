"""Submissions from learning management systems (LMS)."""
