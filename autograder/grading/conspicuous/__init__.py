"""Conspicuous places in the source of a submission."""
