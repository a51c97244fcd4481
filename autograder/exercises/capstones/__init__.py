"""The exercises of lesson 11, capstones, in order."""

EXERCISES = (
    "predict_traces",
    "fix_traces",
    "td_lambda",
    "fix_checkpoint",
    "train_windows",
    "cures",
)
