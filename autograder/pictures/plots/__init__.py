"""Plots with matplotlib for the lessons: each is one command, shows as SVG or PNG, and prints the same as text."""
