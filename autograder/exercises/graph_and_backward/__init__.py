"""The exercises of lesson 02, graph and backward pass, in order."""

EXERCISES = (
    "count_nodes",
    "four_rules",
    "walk_nodes",
    "run_backward",
    "predict_second_backward",
    "fix_two_losses",
    "mean_and_worst",
    "safe_sqrt",
    "nan_node",
    "fix_shared_gradients",
    "hide_the_bug",
)
