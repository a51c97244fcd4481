"""The exercises of lesson 11, Functions under other people's transforms, in order."""

EXERCISES = ("fix_region",)
