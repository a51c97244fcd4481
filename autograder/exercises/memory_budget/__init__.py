"""The exercises of lesson 16, a budget for memory, in order."""

EXERCISES = (
    "predict_kept",
    "keep_products",
    "predict_repeats",
    "fix_noise",
    "stay_silent",
    "fit_budget",
    "compute_again",
)
