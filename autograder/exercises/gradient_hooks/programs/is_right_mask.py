# %%
import torch


# %% right="by_product"
def attach(parameter, mask):
    return parameter.register_hook(lambda grad: grad * mask)

# %% right="by_difference"
def attach(parameter, mask):
    return parameter.register_hook(lambda grad: grad - grad * ~mask)

# %% right="by_choice"
def attach(parameter, mask):
    def hook(grad):
        return torch.where(mask, grad, torch.zeros_like(grad))

    return parameter.register_hook(hook)

# %% right="by_copy"
def attach(parameter, mask):
    off = ~mask

    def hook(grad):
        copy = grad.clone()
        copy[off] = 0
        return copy

    return parameter.register_hook(hook)

# %% wrong="catches_dropped"
def attach(parameter, mask):
    def hook(grad):
        grad = grad * mask

    return parameter.register_hook(hook)

# %% wrong="catches_edited"
def attach(parameter, mask):
    def hook(grad):
        grad.data[~mask] = 0

    return parameter.register_hook(hook)

# %% wrong="catches_masked_sum"
def attach(parameter, mask):
    def hook(leaf):
        leaf.grad = leaf.grad * mask

    return parameter.register_post_accumulate_grad_hook(hook)

# %% wrong="catches_once"
def attach(parameter, mask):
    def hook(grad):
        handle.remove()
        return grad * mask

    handle = parameter.register_hook(hook)
    return handle

# %% wrong="catches_handle"
def attach(parameter, mask):
    parameter.register_hook(lambda grad: grad * mask)
    return parameter.register_hook(lambda grad: None)

# %% wrong="catches_value"
def attach(parameter, mask):
    with torch.no_grad():
        parameter.mul_(mask)
    return parameter.register_hook(lambda grad: grad * mask)
