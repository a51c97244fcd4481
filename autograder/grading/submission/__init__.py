"""One submission: its files, its notebook run and judged, its scores."""
