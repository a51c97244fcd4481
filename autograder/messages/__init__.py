"""All sentences of the interface, in both languages, by id."""
