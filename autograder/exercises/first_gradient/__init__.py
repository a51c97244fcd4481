"""Exercises of lesson 00, the first gradient."""

EXERCISES = (
    "numerical_slope",
    "predict_chain",
    "descend",
)
