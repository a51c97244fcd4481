"""The exercises of lesson 07, custom Functions, in order."""

EXERCISES = (
    "predict_function",
    "exp_function",
    "product_function",
    "fix_sinh",
    "fix_relu",
    "silu_function",
    "reverse_function",
    "leaky_function",
    "scale_function",
    "cube_function",
    "is_right_function",
    "judge_rule",
    "fix_gray",
)
