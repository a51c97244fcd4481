"""Isolated processes in which students' code runs, on Linux."""
