"""The exercises of lesson 11, Functions under transforms, in order."""

EXERCISES = (
    "predict_transforms",
    "fix_rule",
    "fix_region",
)
