"""Explanations of torch's autograd errors and warnings, a table by subject."""
