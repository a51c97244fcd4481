"""Cells and programs of the site, run in forks of one process."""
