"""The exercises of lesson 15, gradients of several processes, in order."""

EXERCISES = (
    "predict_no_sync",
    "accumulate_no_sync",
    "clip_shards",
    "backward_uneven",
)
