"""One submission: its files, the run and judgement of its notebook, scores."""
