"""The exercises of lesson 02, graph and backward pass, in order."""

EXERCISES = (
    "four_rules",
    "walk_nodes",
    "predict_second_backward",
    "safe_sqrt",
    "nan_node",
    "fix_two_losses",
    "mean_and_worst",
    "fix_shared_gradients",
    "run_backward",
    "hide_the_bug",
)
