"""The exercises of lesson 11, Functions under transforms, in order."""

EXERCISES = (
    "predict_transforms",
    "fix_rule",
    "expose_once",
    "distance_forward",
    "ratio_function",
    "fix_region",
    "fix_layer",
)
