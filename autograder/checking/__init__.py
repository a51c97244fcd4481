"""Exercises, observations of answers, verdicts and cards.

Imports only torch and the standard library.
"""
