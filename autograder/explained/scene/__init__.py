"""The place of an error: frame, syntax trees, and visible causes."""
