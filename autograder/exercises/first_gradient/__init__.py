"""The exercises of lesson 00, the first gradient, in order."""

EXERCISES = (
    "numerical_slope",
    "predict_chain",
    "descend",
)
