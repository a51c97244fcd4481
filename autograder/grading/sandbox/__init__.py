"""Isolated processes for students' code, on Linux."""
