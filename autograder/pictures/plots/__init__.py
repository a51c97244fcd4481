"""Matplotlib plots for the lessons, as SVG, PNG and equivalent text."""
