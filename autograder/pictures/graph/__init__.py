"""Graphs of tensors as plain data: read, recorded during backward, folded."""
