"""Small programs for a GPU, with the errors that people meet there.

`python -m support.gpu_programs` runs each in a process of its own, because some end the process's use of the GPU. It
prints a JSON object: from a program's name to the type and the text of its error, or to null.
"""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

MIXTURES = {
    "a layer and data": "nn.Linear(2, 2)(ones(1, 2, device='cuda'))",
    "data and a layer": "nn.Linear(2, 2).cuda()(ones(1, 2))",
    "a convolution and data": "nn.Conv2d(1, 1, 2)(ones(1, 1, 4, 4, device='cuda'))",
    "data and a convolution": "nn.Conv2d(1, 1, 2).cuda()(ones(1, 1, 4, 4))",
    "an embedding": "nn.Embedding(3, 2).cuda()(tensor([1]))",
    "an LSTM": "nn.LSTM(2, 2).cuda()(ones(1, 1, 2))",
    "an LSTM's state": "nn.LSTM(2, 2).cuda()(ones(1, 1, 2, device='cuda'), (ones(1, 1, 2), ones(1, 1, 2)))",
    "a GRU": "nn.GRU(2, 2)(ones(1, 1, 2, device='cuda'))",
    "attention": "nn.MultiheadAttention(4, 2)(*[ones(1, 1, 4, device='cuda')] * 3)",
    "LayerNorm": "nn.LayerNorm(2)(ones(1, 2, device='cuda'))",
    "BatchNorm": "nn.BatchNorm1d(2)(ones(3, 2, device='cuda'))",
    "mse_loss": "F.mse_loss(ones(2, device='cuda'), ones(2))",
    "classes": "F.cross_entropy(ones(2, 2, device='cuda'), tensor([0, 1]))",
    "weights of classes": "nn.CrossEntropyLoss(ones(2))(ones(2, 2, device='cuda'), tensor([0, 1]).cuda())",
    "a sum": "ones(2, device='cuda') + ones(2)",
    "a sum in place": "ones(2).add_(ones(2, device='cuda'))",
    "a total on the CPU": "total = torch.zeros(())\ntotal += ones((), device='cuda')",
    "a product of matrices": "ones(2, 2, device='cuda') @ ones(2, 2)",
    "a matrix and a vector": "ones(2, 2, device='cuda') @ ones(2)",
    "dot": "torch.dot(ones(2, device='cuda'), ones(2))",
    "einsum": "torch.einsum('ij,jk->ik', ones(2, 2, device='cuda'), ones(2, 2))",
    "cat": "torch.cat([ones(2, device='cuda'), ones(2)])",
    "stack": "torch.stack([ones(2, device='cuda'), ones(2)])",
    "where": "torch.where(ones(2, device='cuda') > 0, ones(2), torch.zeros(2))",
    "indices of the GPU": "ones(2)[tensor([1], device='cuda')]",
    "a mask of the GPU": "ones(2)[ones(2, device='cuda') > 0]",
    "indices of the CPU": "ones(2, device='cuda')[tensor([1])]",
    "a write with indices of the CPU": "ones(2, device='cuda')[tensor([1])] = ones(1)",
    "a write with indices of the GPU": "ones(2)[tensor([1], device='cuda')] = ones(1)",
    "gather": "ones(2, device='cuda').gather(0, tensor([1]))",
    "index_add": "ones(2, device='cuda').index_add(0, tensor([1]), ones(1, device='cuda'))",
    "scatter": "ones(2, device='cuda').scatter(0, tensor([1]), 2.0)",
    "masked_fill": "ones(2, device='cuda').masked_fill(tensor([True, False]), 0.0)",
    "clamp": "torch.clamp(ones(2, device='cuda'), min=torch.zeros(2))",
    "an assigned gradient": "p = ones(2, device='cuda', requires_grad=True)\np.grad = ones(2)",
    "v in backward": "(leaf() * 2).backward(ones(2))",
    "v in grad": "x = leaf()\ntorch.autograd.grad(x * 2, x, ones(2))",
    "losses on two devices": "torch.autograd.backward([leaf().sum(), ones(2, requires_grad=True).sum()])",
    "a custom backward": "Function.apply(leaf(), lambda g: g * ones(2)).sum().backward()",
    "an unpack hook": (
        "x = leaf()\n"
        "with torch.autograd.graph.saved_tensors_hooks(lambda t: t.cpu(), lambda t: t):\n"
        "    y = x * x\n"
        "y.sum().backward()"
    ),
    "an optimizer's state": (
        "p = nn.Parameter(ones(2))\n"
        "adam = torch.optim.Adam([p])\n"
        "p.sum().backward()\n"
        "adam.step()\n"
        "p.data = p.data.cuda()\n"
        "p.grad = ones(2, device='cuda')\n"
        "adam.step()"
    ),
    "moved after a pass": (
        "p = ones(2, requires_grad=True)\n(p * 2).sum().backward()\np.data = p.data.cuda()\n(p * 2).sum().backward()"
    ),
    "a check with gradcheck": "torch.autograd.gradcheck(lambda x: x * ones(2), leaf(torch.double))",
    "NumPy": "ones(2, device='cuda').numpy()",
}
# A pretended device does not have these: kernels, memory, generators and checks of the engine.
ON_A_GPU_ALONE = {
    "a hook's gradient": "y = leaf() * 2\ny.register_hook(lambda g: ones(2))\ny.sum().backward()",
    "a custom gradient": "Function.apply(leaf(), lambda g: ones(2)).sum().backward()",
    "a generator": "torch.rand(2, device='cuda', generator=torch.Generator())",
    "memory": "torch.empty(2**38, device='cuda')",
    "a class that is not there": "F.cross_entropy(ones(2, 2, device='cuda'), tensor([0, 5]).cuda())" + "\nwait()",
    "an index that is not there": "ones(2, device='cuda')[tensor([7], device='cuda')]" + "\nwait()",
    "a fork": (
        "import multiprocessing\n"
        "torch.cuda.is_available()\n"
        "with multiprocessing.get_context('fork').Pool(1) as pool: pool.apply(torch.ones, (1,), {'device': 'cuda'})"
    ),
    "an evaluated LSTM": "nn.LSTM(2, 2).cuda().eval()(leaf().view(1, 1, 2))[0].sum().backward()",
    "an LSTM's second derivative": (
        "x = leaf()\n"
        "y = nn.LSTM(2, 2).cuda()(x.view(1, 1, 2))[0].sum()\n"
        "torch.autograd.grad(y, x, create_graph=True)[0].sum().backward()"
    ),
    "a random order": (
        "torch.use_deterministic_algorithms(True)\n"
        "F.interpolate(leaf().view(1, 1, 2), scale_factor=2, mode='linear').sum().backward()"
    ),
}

PREAMBLE = """
import torch
from torch import nn, ones, tensor
from torch.nn import functional as F

wait = torch.cuda.synchronize


def leaf(dtype=None):
    return torch.ones(2, device="cuda", dtype=dtype, requires_grad=True)


class Function(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, backward):
        ctx.derivative = backward
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return ctx.derivative(gradient), None
"""


def outcome(program: str) -> list[str] | None:
    """Run a program here. Returns the type and the text of its error."""
    space: dict[str, object] = {}
    exec(PREAMBLE, space)
    try:
        exec(program, space)
    except Exception as error:
        return [type(error).__name__, str(error)]
    return None


def outcome_elsewhere(program: str) -> list[str] | None:
    """Run a program in a process of its own, as `outcome` does."""
    code = f"import json; from support.gpu_programs import outcome; print(json.dumps(outcome({program!r})))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    found: list[str] | None = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    every = MIXTURES | ON_A_GPU_ALONE
    with ThreadPoolExecutor(6) as executor:
        print(json.dumps(dict(zip(every, executor.map(outcome_elsewhere, every.values()))), indent=1))


if __name__ == "__main__":
    main()
