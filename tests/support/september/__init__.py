"""A class in its first month: people, lessons, archives, and what the grades must be."""
