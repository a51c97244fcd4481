"""The exercises of lesson 17, capstones, in order."""

EXERCISES = (
    "fix_checkpoint",
    "fix_hidden_state",
    "train_windows",
    "step_in_half",
    "cures",
    "predict_traces",
    "fix_traces",
    "td_lambda",
    "hide_the_fault",
    "is_right_td",
    "own_engine",
    "fix_baseline",
    "predict_step_bytes",
    "chunked_loss",
    "lean_step",
)
