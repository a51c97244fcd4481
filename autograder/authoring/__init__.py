"""Tools for authors: building notebooks and keys, and verifying exercises."""
