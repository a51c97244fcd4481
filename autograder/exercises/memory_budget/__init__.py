"""The exercises of lesson 16, a budget for memory, in order."""

EXERCISES = ("predict_kept", "keep_products")
