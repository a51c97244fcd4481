"""Renderers of a graph: text, DOT, SVG, PNG and HTML."""
