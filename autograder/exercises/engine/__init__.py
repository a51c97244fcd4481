"""The exercises of lesson 09, the engine, in order."""

EXERCISES = (
    "predict_engine",
    "node_order",
    "locked_accumulation",
    "order_changes_bits",
    "deterministic_sum",
    "fix_threads",
    "recompute",
)
