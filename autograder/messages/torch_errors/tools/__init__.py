"""Explanations about what works with gradients: optimizers, transforms, Functions, hooks."""
