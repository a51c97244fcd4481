"""The exercises of lesson 14, gradients through a solver, in order."""

EXERCISES = (
    "predict_solvers",
    "fix_argmin",
    "fixed_point",
    "mislead",
)
