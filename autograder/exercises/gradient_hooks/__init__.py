"""The exercises of lesson 08, hooks on gradients, in order."""

EXERCISES = (
    "predict_hook_order",
    "predict_hook_calls",
    "arriving_gradients",
    "damp",
    "clip_globally",
    "step_in_backward",
    "watch_buckets",
    "train_damped",
    "accumulate_in_backward",
    "unused_parameters",
    "output_gradients",
    "silent_hook",
    "is_right_mask",
)
