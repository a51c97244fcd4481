"""One submission: files, run and judgement of its notebook, scores."""
