"""The course folder: its making, settings, records, hidden cases and gradebook."""
