"""Matplotlib plots for lessons, as SVG, PNG and text."""
