"""The course folder: creation, settings, records, hidden cases, gradebook."""
