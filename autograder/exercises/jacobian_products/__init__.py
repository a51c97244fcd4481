"""The exercises of lesson 04, Jacobian products, in order."""

EXERCISES = (
    "predict_vjp",
    "fix_two_products",
    "jacobian_rows",
    "jvp",
    "jvp_by_backward",
    "hvp",
    "numerical_jacobian",
    "expose_swap",
    "fool_gradcheck",
    "cheap_jacobian",
    "predict_shapes",
    "per_sample_gradients",
)
