"""From a lesson source to notebooks and keys, and the gate that every exercise must pass."""
