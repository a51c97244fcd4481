"""All sentences that users read, in English and Russian, by id."""
