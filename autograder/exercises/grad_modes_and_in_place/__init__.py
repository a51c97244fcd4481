"""The exercises of lesson 05, grad modes and in-place edits, in order."""

EXERCISES = (
    "predict_modes",
    "head_gradients",
    "evaluate",
    "freeze",
    "predict_in_place",
    "smooth",
    "gan_step",
    "shared_edit",
    "stop_recording",
)
