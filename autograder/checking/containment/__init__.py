"""Containment of an answer's side effects: settings of torch, output, randomness, time."""
