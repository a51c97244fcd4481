"""Every sentence of the interface, in both languages, by its id."""
