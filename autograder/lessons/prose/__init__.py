"""Prose of lesson sources: headings, contracts, sections and their minutes."""
