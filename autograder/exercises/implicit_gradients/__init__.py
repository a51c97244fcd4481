"""The exercises of lesson 14, gradients through a solver, in order."""

EXERCISES = (
    "predict_solvers",
    "fixed_point",
    "fix_argmin",
    "mislead",
)
