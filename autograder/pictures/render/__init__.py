"""Renderers of graphs: text, DOT, SVG, PNG and HTML."""
