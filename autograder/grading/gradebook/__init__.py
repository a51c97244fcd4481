"""The gradebook: nbgrader's database."""
