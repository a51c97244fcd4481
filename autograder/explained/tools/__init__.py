"""Explanations about what works with gradients: transforms, Functions, hooks."""
