"""The exercises of lesson 12, compiled code and custom operators, in order."""

EXERCISES = (
    "predict_graphs",
    "one_graph",
    "predict_compiled",
    "costly_node",
    "fix_anomaly",
    "add_formula",
    "fix_fake",
    "predict_operators",
    "is_right_operator",
)
