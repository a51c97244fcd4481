"""Feedback pages for students."""
