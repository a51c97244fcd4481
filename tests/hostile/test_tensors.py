"""Tensors that lie about their own flags, in the lesson about leaf tensors."""

from __future__ import annotations

import copy
from collections.abc import Iterator

import pytest

from autograder.grading.limits import Limits
from autograder.lessons.collection import COURSE
from autograder.messages.learners import MESSAGES
from support.assignment import Assignment, open_assignment, points
from support.course import forked_fork_servers

LIMITS = Limits(cell_seconds=10, total_seconds=30, memory=1 << 30, processes=12, disk_bytes=64 << 20)

GIVEN = """
def trainable_weight(values, dtype, device):
    w = (values.clone().requires_grad_() * 0.01).to(device=device, dtype=dtype)
    return RESULT
"""
PROPERTIES = """
class Liar(torch.Tensor):
    is_leaf = requires_grad = True
    retains_grad, grad_fn = False, None
"""
FUNCTIONS = """
class Liar(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        named = {"is_leaf": True, "requires_grad": True, "retains_grad": False, "grad_fn": None}
        name = getattr(getattr(function, "__self__", None), "__name__", "")
        return named[name] if name in named else super().__torch_function__(function, types, args, kwargs or {})
"""
INHERITED = """
class Lies:
    is_leaf = requires_grad = True
    retains_grad, grad_fn = False, None
class Named(type(torch.Tensor)):
    __mro__ = torch.Tensor.__mro__
class Liar(Lies, torch.Tensor, metaclass=Named):
    pass
"""
STEP = """
def update(weights, lr):
    for w in weights:
        if w.grad is not None:
            w.data -= lr * w.grad
            AFTER
"""
VERSION = """

class Liar(torch.Tensor):
    _version = property(lambda self: 10**6)
"""
NOT_CLEARED = STEP.replace("w.data -= lr * w.grad", "torch.Tensor.sub_(w.detach(), lr * w.grad)")

LIES = {
    "properties of a class": ("trainable_weight", PROPERTIES + GIVEN, "w.as_subclass(Liar)"),
    "__torch_function__": ("trainable_weight", FUNCTIONS + GIVEN, "w.as_subclass(Liar)"),
    "a class beside the tensor": ("trainable_weight", INHERITED + GIVEN, "w.as_subclass(Liar)"),
    "the class of an input": ("update", VERSION + STEP, "w.grad = None; w.__class__ = Liar"),
    "an attribute of a gradient": ("update", NOT_CLEARED, "w.grad.any = lambda: False"),
}


@pytest.fixture(scope="module")
def assignment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Assignment]:
    (lesson,) = COURSE.read(["01_leaf_tensors"])
    folder, asked = tmp_path_factory.mktemp("tensors"), ("trainable_weight", "update")
    with forked_fork_servers(), open_assignment(lesson, COURSE.exercises(lesson), folder, LIMITS, asked) as opened:
        yield opened


@pytest.mark.parametrize("lie", LIES)
def test_a_lying_tensor_earns_nothing(lie: str, assignment: Assignment) -> None:
    name, source, trick = LIES[lie]
    outcome, _ = assignment.hand_in(
        copy.deepcopy(
            assignment.notebook({name: source.replace("RESULT", trick).replace("AFTER", trick)}, "import torch")
        )
    )
    assert outcome.flags == []
    assert points(outcome) == {}
    said = outcome.verdicts[name].finding.got[0]
    assert said.id == "raised.replaced"
    for language in ("en", "ru"):
        assert f"`{said.parameters['name']}`" in MESSAGES[said.id].format(**said.parameters).read(language)


def test_a_class_that_only_shows_itself_costs_nothing(assignment: Assignment) -> None:
    shown = "class Named(torch.nn.Parameter):\n    def __repr__(self): return 'mine'\n"
    solved = assignment.solved["trainable_weight"].replace("def trainable_weight", "def solved")
    answer = f"{shown}{solved}\ndef trainable_weight(*case):\n"
    answer += "    return solved(*case).detach().as_subclass(Named).requires_grad_()\n"
    outcome, _ = assignment.hand_in(
        assignment.notebook({"trainable_weight": answer, "update": assignment.solved["update"]}, "import torch")
    )
    assert outcome.flags == []
    assert points(outcome) == {
        name: assignment.judge.answers.exercises[name].points for name in ("trainable_weight", "update")
    }
