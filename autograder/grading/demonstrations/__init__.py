"""Released cells that show something, and that nothing in a submission needs."""
