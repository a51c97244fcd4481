"""The exercises of lesson 01, leaf tensors, in order."""

EXERCISES = (
    "predict_leaf",
    "predict_grad",
    "trainable_weight",
    "update",
    "hidden_gradients",
    "overwrite",
    "snapshot",
    "predict_bridge",
    "leaf_without_gradient",
)
