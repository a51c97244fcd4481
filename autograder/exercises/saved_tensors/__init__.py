"""The exercises of lesson 06, saved tensors, in order."""

EXERCISES = (
    "predict_saved",
    "predict_hooks",
    "save_in_half",
    "fix_threshold",
    "save_on_disk",
    "checkpointed",
    "count_saved",
    "notice_edits",
    "hide_saved",
)
