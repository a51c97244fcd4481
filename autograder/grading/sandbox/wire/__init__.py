"""Messages between the two sides of the wall."""
