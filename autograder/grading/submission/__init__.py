"""One submission: its files, the run of its notebook, judgements, scores."""
