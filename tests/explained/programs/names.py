import copy, math, pickle, warnings
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.autograd import forward_ad, functional, gradcheck, gradgradcheck, graph
from torch.autograd.function import once_differentiable
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

def leaf(n=2, dtype=torch.float32):
    return torch.rand(n, dtype=dtype, requires_grad=True)

def own(forward=lambda ctx, x: x * 1, backward=lambda ctx, grad: grad, **others):
    """A custom Function made of these parts; a part that is None is left out."""
    parts = {"forward": forward, "backward": backward, **others}
    methods = {name: staticmethod(part) if callable(part) else part for name, part in parts.items() if part is not None}
    return type("Own", (torch.autograd.Function,), methods)
