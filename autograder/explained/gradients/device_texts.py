"""Patterns for texts about devices, which differ from kernel to kernel."""

MIXTURE = (
    r"(be|are|have|expected to be in|expects all \w+ \w+) (on |in )?(the |a )?same device"
    r"|is not on the expected device|Placeholder storage has not been allocated on MPS device"
)
# An argument that holds indices.
INDICES = (
    r"indices should be either on .* or on the same device as the indexed tensor"
    r"|(but got|for argument) (index|indices|mask) (is on|in method)|index and source expected to be in the same device|expected self and mask to be on the same device"
)
# Arguments that a layer hands to its kernel.
LAYERS = (
    r"Input type \(.*\) and weight type \(.*\) should be the same"
    r"|(Input|Hidden) and (parameter|hidden) tensors are not at the same device"
    r"|(but got|for argument) (weight|bias|running_mean|running_var) (is on .*|in method .*)(conv|norm|linear)|wrapper_\w+(addmm|_linear)\b"
    r"|Tensor for argument \w+ is on \w+ but expected on \w+|addmm:? expected '.*' to be a? ?CPU tensor"
)
GRADIENTS = (
    r"invalid gradient at index \d+ - expected (device|layout)"
    r"|changed the type of value \(was torch\.cuda\.\w+ got torch\.(?!cuda\.)"
    r"|changed the type of value \(was torch\.(?!cuda\.)\w+ got torch\.cuda\."
)
