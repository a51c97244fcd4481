"""The exercises of lesson 03, gradient accumulation, in order."""

EXERCISES = (
    "predict_accumulation",
    "train_engine",
    "accumulate_equal",
    "fix_zero_inside",
    "accumulate_uneven",
    "train_epoch",
    "fix_backward_last",
    "predict_zero_grad",
    "clip_once",
    "unscale_then_clip",
    "token_mean",
    "break_accumulation",
    "is_right",
    "unbroadcast",
)
