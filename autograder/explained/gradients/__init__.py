"""Explanations about tensors, their graphs and gradients."""
