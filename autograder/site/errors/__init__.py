"""Pages of the explained errors: their programs, run; cures; graphs."""
