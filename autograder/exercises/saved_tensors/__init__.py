"""The exercises of lesson 06, saved tensors, in order."""

EXERCISES = (
    "predict_saved",
    "hide_saved",
    "checkpointed",
    "save_in_half",
    "fix_threshold",
    "predict_hooks",
    "save_on_disk",
    "count_saved",
    "notice_edits",
    "free_as_you_walk",
)
