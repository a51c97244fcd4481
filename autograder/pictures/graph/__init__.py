"""Graphs of autograd as plain data: read, recorded during backward, folded."""
