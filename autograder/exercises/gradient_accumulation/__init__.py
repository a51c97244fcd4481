"""The exercises of lesson 03, gradient accumulation, in order."""

EXERCISES = (
    "predict_accumulation",
    "train_engine",
    "fix_zero_inside",
    "accumulate_uneven",
    "accumulate_equal",
    "train_epoch",
    "predict_zero_grad",
    "clip_once",
    "unscale_then_clip",
    "token_mean",
    "break_accumulation",
    "is_right",
    "unbroadcast",
)
