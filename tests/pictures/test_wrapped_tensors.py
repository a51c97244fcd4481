"""Tensors without numbers of their own: FakeTensor, DTensor, masked and nested ones.

Each program runs in a fork of its own: torch ends a process that reads such numbers.
"""

from __future__ import annotations

import pytest

from support.course import run_autograder

PREAMBLE = """
import tempfile, warnings
warnings.simplefilter("ignore")
import torch
from torch import distributed
from autograder import draw, steps

def both(loss):
    print(repr(draw(loss)), repr(steps(loss)), sep="\\n")
"""
PROGRAMS = {
    "fake": """
from torch._subclasses.fake_tensor import FakeTensorMode
with FakeTensorMode():
    layer = torch.nn.Linear(3, 2)
    loss = layer(torch.rand(4, 3)).sum()
both(loss)
assert layer.weight.grad is None
""",
    "distributed": """
from torch.distributed.tensor import Shard, distribute_tensor, init_device_mesh
distributed.init_process_group("gloo", init_method=f"file://{tempfile.mktemp()}", rank=0, world_size=1)
w = distribute_tensor(torch.ones(4, 3), init_device_mesh("cpu", (1,)), [Shard(0)]).requires_grad_()
loss = (w * 2).sum()
loss.backward(retain_graph=True)
before = w.grad
both(loss)
assert w.grad is before and torch.equal(before.to_local(), torch.full((4, 3), 2.0))
""",
    "masked": """
from torch.masked import masked_tensor
x = masked_tensor(torch.rand(3), torch.tensor([True, False, True]), requires_grad=True)
both(x.sum())
assert x.grad is None
""",
    "jagged": """
a, b = torch.rand(2, 3, requires_grad=True), torch.rand(4, 3, requires_grad=True)
n = torch.nested.as_nested_tensor([a, b], layout=torch.jagged)
both((n * 2).values().sum())
assert a.grad is b.grad is None
""",
    "strided": """
a, b = torch.rand(2, 3, requires_grad=True), torch.rand(4, 3, requires_grad=True)
n = torch.nested.as_nested_tensor([a, b])
both(torch.nested.to_padded_tensor(n * 2, 0.0).sum())
assert a.grad is b.grad is None
""",
}
SHOWN = {
    "fake": ["AddmmBackward0", "layer.weight.grad: – + (2, 3) ? = (2, 3) ?"],
    "distributed": ["MulBackward0", "w.grad: (4, 3) ? + (4, 3) ? = (4, 3) ?"],
    "masked": ["SumBackward1", "x.grad: – + (3,) ? = (3,) ?"],
    "jagged": ["NestedGetValuesBackward0", "◆ a: leaf", "b.grad: – + (4, 3) ‖·‖ = 6.928"],
    "strided": ["ToPaddedTensorBackward0", "◆ a: leaf", "b.grad: – + (4, 3) ‖·‖ = 6.928"],
}


@pytest.mark.parametrize("kind", PROGRAMS)
def test_graph_and_steps_are_told_without_numbers(kind: str) -> None:
    done = run_autograder("--help", first=PREAMBLE + PROGRAMS[kind])
    assert done.returncode == 0, done.stderr
    assert [part for part in SHOWN[kind] if part not in done.stdout] == [], done.stdout
