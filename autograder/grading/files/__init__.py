"""Files: atomic replacement, locks, notebooks."""
