"""The sandbox: a warm template, isolated forks of it, and plain data in between."""
