"""Explanations about training: optimizers, scaled losses, several processes, compiled programs."""
