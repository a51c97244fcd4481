"""Data sets that lessons train on, with their loaders.

Their sources and licences are in `README.md`.
"""
