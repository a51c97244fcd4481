"""The exercises of lesson 08, hooks on gradients, in order."""

EXERCISES = (
    "predict_hook_order",
    "arriving_gradients",
    "damp",
    "clip_globally",
    "step_in_backward",
    "watch_buckets",
)
