"""The exercises of lesson 04, grad modes and in-place edits, in order."""

EXERCISES = (
    "predict_modes",
    "head_gradients",
    "freeze",
    "predict_in_place",
    "evaluate",
    "smooth",
    "gan_step",
    "shared_edit",
    "stop_recording",
)
