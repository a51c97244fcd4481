"""The exercises of lesson 06, saved tensors, in order."""

EXERCISES = (
    "predict_saved",
    "hide_saved",
    "save_in_half",
    "checkpointed",
    "fix_threshold",
    "predict_hooks",
    "save_on_disk",
    "count_saved",
    "notice_edits",
    "predict_copies",
    "free_as_you_walk",
)
