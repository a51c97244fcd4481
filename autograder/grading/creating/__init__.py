"""Course folders, created or updated."""
