"""The exercises of lesson 07, custom Functions, in order."""

EXERCISES = (
    "predict_function",
    "exp_function",
    "fix_relu",
    "product_function",
    "fix_sinh",
    "silu_function",
    "sign_function",
    "reverse_function",
    "leaky_function",
    "square_function",
    "scale_function",
    "clip_function",
    "cube_function",
    "is_right_function",
    "judge_rule",
    "fix_gray",
)
