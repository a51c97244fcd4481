"""The exercises of lesson 11, Functions under transforms, in order."""

EXERCISES = (
    "predict_transforms",
    "fix_rule",
    "distance_forward",
    "expose_once",
    "ratio_function",
    "fix_region",
    "fix_layer",
)
