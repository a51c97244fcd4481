"""The graph of a tensor as plain data: read, recorded while backward runs, folded."""
