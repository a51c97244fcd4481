"""The exercises of lesson 10, derivatives of derivatives, in order."""

EXERCISES = (
    "predict_second",
    "gradient_penalty",
    "fix_leak",
    "sharpness",
    "fix_attention",
    "meta_gradient",
    "per_sample_module",
    "fix_vmap",
    "has_second_derivative",
    "predict_kinds",
    "complex_product",
    "clip_sparse",
    "predict_ragged",
    "recorded_rules",
)
