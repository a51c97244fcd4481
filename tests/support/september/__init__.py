"""A class of 200 in its first month: people, lessons, archives, and what the grades must be."""
