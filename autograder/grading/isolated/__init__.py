"""The wall: a warm template, forks of it that see nothing of the machine, and plain data in between."""
