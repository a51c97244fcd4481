"""The exercises of lesson 01, leaf tensors, in order."""

EXERCISES = (
    "predict_leaf",
    "predict_grad",
    "trainable_weight",
    "hidden_gradients",
    "update",
    "overwrite",
    "snapshot",
    "predict_bridge",
    "sum_gradients",
    "two_layer_loss",
    "leaf_without_gradient",
)
