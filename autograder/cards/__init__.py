"""Cards: the sentences that show a verdict to a person."""
