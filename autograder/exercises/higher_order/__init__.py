"""The exercises of lesson 10, derivatives of derivatives, in order."""

EXERCISES = (
    "predict_second",
    "gradient_penalty",
    "fix_leak",
    "sharpness",
    "per_sample_module",
    "fix_vmap",
    "meta_gradient",
    "fix_attention",
    "has_second_derivative",
    "predict_kinds",
    "complex_product",
    "clip_sparse",
)
