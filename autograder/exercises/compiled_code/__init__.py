"""The exercises of lesson 12, compiled code and custom operators, in order."""

EXERCISES = (
    "add_formula",
    "fix_fake",
    "predict_operators",
    "is_right_operator",
    "predict_graphs",
    "one_graph",
    "predict_compiled",
)
