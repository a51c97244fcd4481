"""The exercises of lesson 05, Jacobian products, in order."""

EXERCISES = (
    "predict_vjp",
    "fix_two_products",
    "jvp",
    "hvp",
    "jacobian_rows",
    "jvp_by_backward",
    "numerical_jacobian",
    "expose_swap",
    "fool_gradcheck",
    "cheap_jacobian",
    "predict_shapes",
    "per_sample_gradients",
)
