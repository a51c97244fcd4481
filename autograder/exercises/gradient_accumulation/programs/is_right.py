# %%
import torch


def _share(micro_batches, n):
    return n / sum(size for _, size in micro_batches)

# %% right="by_backward"
def accumulate(parameter, micro_batches):
    parameter.grad = None
    for mean_loss, n in micro_batches:
        (mean_loss() * _share(micro_batches, n)).backward()

# %% right="by_grad"
def accumulate(parameter, micro_batches):
    total = torch.zeros_like(parameter)
    for mean_loss, n in micro_batches:
        (gradient,) = torch.autograd.grad(mean_loss(), parameter)
        total += gradient * n
    mean = total / sum(n for _, n in micro_batches)
    # Another order of sums may change the last bit. Whether it does depends on the processor, so it is changed here.
    parameter.grad = torch.nextafter(mean, mean + 1)

# %% right="by_one_sum"
def accumulate(parameter, micro_batches):
    parameter.grad = None
    torch.stack([mean_loss() * _share(micro_batches, n) for mean_loss, n in micro_batches]).sum().backward()

# %% right="by_zeroing_in_place"
def accumulate(parameter, micro_batches):
    if parameter.grad is not None:
        parameter.grad.zero_()
    for mean_loss, n in micro_batches:
        (mean_loss() * _share(micro_batches, n)).backward()

# %% wrong="catches_old_gradient"
def accumulate(parameter, micro_batches):
    for mean_loss, n in micro_batches:
        (mean_loss() * _share(micro_batches, n)).backward()

# %% wrong="catches_zeroing_inside"
def accumulate(parameter, micro_batches):
    for mean_loss, n in micro_batches:
        parameter.grad = None
        (mean_loss() * _share(micro_batches, n)).backward()

# %% wrong="catches_missing_last"
def accumulate(parameter, micro_batches):
    parameter.grad = None
    for mean_loss, n in micro_batches[:-1] or micro_batches:
        (mean_loss() * _share(micro_batches, n)).backward()

# %% wrong="catches_sum_of_means"
def accumulate(parameter, micro_batches):
    parameter.grad = None
    for mean_loss, _ in micro_batches:
        mean_loss().backward()

# %% wrong="catches_missing_division"
def accumulate(parameter, micro_batches):
    parameter.grad = None
    for mean_loss, n in micro_batches:
        (mean_loss() * n).backward()

# %% wrong="catches_equal_weights"
def accumulate(parameter, micro_batches):
    parameter.grad = None
    for mean_loss, _ in micro_batches:
        (mean_loss() / len(micro_batches)).backward()

# %% wrong="catches_division_by_samples"
def accumulate(parameter, micro_batches):
    parameter.grad = None
    for mean_loss, _ in micro_batches:
        (mean_loss() / sum(n for _, n in micro_batches)).backward()
