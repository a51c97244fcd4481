"""Patterns for texts about devices, which differ from kernel to kernel."""

MIXTURE = r"Expected all tensors to be on the same device"
# An argument that holds indices.
INDICES = (
    r"indices should be either on .* or on the same device as the indexed tensor"
    r"|but got (index|indices|mask) is on|expected self and mask to be on the same device"
)
# Arguments that a layer hands to its kernel.
LAYERS = (
    r"Input type \(.*\) and weight type \(.*\) should be the same"
    r"|(Input|Hidden) and (parameter|hidden) tensors are not at the same device"
    r"|but got (weight|bias|running_mean|running_var) is on .*(conv|norm|linear)|wrapper_\w+(addmm|_linear)\b"
)
GRADIENTS = (
    r"invalid gradient at index \d+ - expected (device|layout)"
    r"|changed the type of value \(was torch\.cuda\.\w+ got torch\.(?!cuda\.)"
    r"|changed the type of value \(was torch\.(?!cuda\.)\w+ got torch\.cuda\."
)
