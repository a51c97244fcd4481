"""The exercises of lesson 09, the engine, in order."""

EXERCISES = (
    "predict_engine",
    "order_changes_bits",
    "deterministic_sum",
    "node_order",
    "locked_accumulation",
    "fix_threads",
    "recompute",
)
