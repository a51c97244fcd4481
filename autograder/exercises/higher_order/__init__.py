"""The exercises of lesson 10, derivatives of derivatives, in order."""

EXERCISES = (
    "predict_second",
    "gradient_penalty",
    "sharpness",
    "fix_leak",
    "meta_gradient",
    "fix_attention",
    "per_sample_module",
    "fix_vmap",
    "has_second_derivative",
    "recorded_rules",
)
