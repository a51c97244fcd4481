"""The exercises of lesson 08, hooks on gradients, in order."""

EXERCISES = (
    "predict_hook_order",
    "arriving_gradients",
    "damp",
    "clip_globally",
    "predict_hook_calls",
    "step_in_backward",
    "accumulate_in_backward",
    "output_gradients",
    "silent_hook",
    "watch_buckets",
    "unused_parameters",
    "hooks_and_freeing",
)
