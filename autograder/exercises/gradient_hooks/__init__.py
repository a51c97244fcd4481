"""The exercises of lesson 08, hooks on gradients, in order."""

EXERCISES = (
    "predict_hook_order",
    "predict_hook_calls",
    "arriving_gradients",
    "damp",
    "clip_globally",
    "step_in_backward",
    "train_damped",
    "accumulate_in_backward",
    "output_gradients",
    "silent_hook",
    "fix_places",
    "watch_buckets",
    "unused_parameters",
    "is_right_mask",
    "hooks_and_freeing",
)
