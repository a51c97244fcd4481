"""Students' requests to look at a grade again, with answers."""
