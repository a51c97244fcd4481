"""Tools for authors: building notebooks and keys, and the gate."""
