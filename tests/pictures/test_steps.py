"""`steps`: a backward pass in frames, true to what autograd does."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder import steps
from autograder.language import LANGUAGES
from autograder.messages.drawing import WORDS
from autograder.pictures.graph.model import Gradient
from autograder.pictures.graph.read import refusal
from autograder.pictures.graph.torch_objects import brief
from autograder.pictures.steps import Steps
from autograder.session import SESSION
from support.graphs import AWKWARD, STEPS, Made, run
from support.pictures import gradients, image
from support.steps import same, shown, squeezed, state, stepped, written

PROGRAMS = st.lists(st.tuples(st.sampled_from(sorted(STEPS)), st.integers(0, 99), st.integers(0, 99)), max_size=12)


def still(result: Steps) -> tuple[str, str]:
    """The picture shown where no step was taken: what is written in it, and its text."""
    bundle = result._repr_mimebundle_()
    assert isinstance(bundle, tuple)
    assert bundle[0]["image/png"].startswith(b"\x89PNG")
    return written(ElementTree.fromstring(image(bundle[0]["text/html"]).svg)), bundle[0]["text/plain"]


def assert_true(made: Made, result: Steps) -> None:
    """Gradients that wait go on from frame to frame and arrive in the end, but for changes by hooks."""
    waiting: dict[tuple[int, int], Gradient] = {}
    for frame in result.run.frames:
        changed = {change.output: change for change in frame.changes}
        for output, gradient in enumerate(frame.arrived):
            waited = waiting.pop((frame.node, output), None)
            if output in changed:
                assert (changed[output].before, changed[output].after) == (waited, gradient)
            elif frame.node:  # the first node got the gradient of the loss itself
                assert gradient == waited
        for sent in frame.sent:
            assert sent.before == waiting.get((sent.target, sent.output))
            assert sent.number <= sent.count
            waiting[sent.target, sent.output] = sent.after
    assert waiting == {}


def test_a_small_graph_step_by_step() -> None:
    x, w = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([3.0, 4.0], requires_grad=True)
    w.grad = torch.tensor([100.0, 200.0])
    h = x * w
    loss = (h * h).sum()
    result = steps(loss)
    names = [result.graph.nodes[frame.node].name for frame in result.run.frames]
    assert names == ["SumBackward0", "MulBackward0", "MulBackward0", "AccumulateGrad", "AccumulateGrad"]
    first, second = result.run.frames[1].sent
    three, six = Gradient((2,), "[3, 8]"), Gradient((2,), "[6, 16]")
    assert (first.before, first.increment, first.after, first.number, first.count) == (None, three, three, 1, 2)
    assert (second.before, second.increment, second.after, second.number) == (three, three, six, 2)
    landed = {result.graph.nodes[f.node].leaf: f.landed for f in result.run.frames if f.landed}
    told = {result.graph.tensors[leaf].name: landing for leaf, landing in landed.items() if leaf is not None}
    assert told["x"].before is None
    assert [g.said for g in (told["x"].increment, told["x"].after)] == ["[18, 64]"] * 2
    assert told["w"].before == Gradient((2,), "[100, 200]")
    assert [g.said for g in (told["w"].increment, told["w"].after)] == ["[6, 32]", "[106, 232]"]
    assert [frame.freed for frame in result.run.frames] == [0, 8, 0, 0, 0]  # h, once; x and w are inputs
    text = str(result)
    for fact in (
        "it is added: [3, 8] + [3, 8] = [6, 16] (2 of 2)",
        "w.grad: [100, 200] + [6, 32] = [106, 232]",
        "x.grad: – + [18, 64] = [18, 64]",
        "freed: other = h (2,) float32, self = h (2,) float32",
        "let go of: 8 B",
    ):
        assert fact in text


def test_zeros_without_memory_are_zeros() -> None:
    """The derivative of `sgn` is a tensor of torch's own kind, which has no address."""
    x = torch.tensor([-2.0, 3.0], requires_grad=True)
    x.grad = torch.tensor([1.0, 5.0])
    assert "x.grad: [1, 5] + [0, 0] = [1, 5]" in repr(steps(torch.sgn(x).sum()))


def test_numbers_are_those_that_autograd_adds() -> None:
    torch.manual_seed(1)
    x = torch.randn(3, requires_grad=True)
    loss = (x.sin() * x + x.exp() * x.tanh()).sum()
    frames = steps(loss).run.frames
    parts: list[torch.Tensor] = []
    for one in (lambda t: t.sin() * x.detach(), lambda t: x.sin().detach() * t):
        parts += torch.autograd.grad(one(x).sum(), x)
    parts += torch.autograd.grad((x.exp() * x.tanh().detach()).sum(), x)
    parts += torch.autograd.grad((x.exp().detach() * x.tanh()).sum(), x)
    sums = [sent for frame in frames for sent in frame.sent if sent.count == 4]
    assert {sent.increment.said for sent in sums} == {brief(part) for part in parts}
    (total,) = torch.autograd.grad(loss, x)
    assert [sent.number for sent in sums] == [1, 2, 3, 4]
    assert sums[-1].after.said == brief(total)
    assert sums[1].after.said == sums[2].before.said  # type: ignore[union-attr]


def assert_undisturbed(made: Made, twin: Made) -> Steps:
    """Nothing has changed; every `.grad` that backward gives afterwards is that of a twin, and one that was told."""
    before = state(made)
    result = stepped(made)
    assert same(before, state(made))
    assert gradients(made) == gradients(twin)
    if result.run.error is None and result.run.frames:
        assert_true(made, result)
        landed = [frame.landed for frame in result.run.frames if frame.landed]
        told = {gradient.said for one in landed if (gradient := one.kept if one.changed else one.after)}
        tensors = [t for t in made.names.values() if isinstance(t, torch.Tensor) and refusal(t) is None]
        assert {brief(leaf.grad) or "?" for leaf in tensors if leaf.is_leaf and leaf.grad is not None} <= told
    return result


@pytest.mark.parametrize("name", AWKWARD)
def test_awkward_graphs_are_stepped_undisturbed(name: str) -> None:
    made, twin = AWKWARD[name](), AWKWARD[name]()
    result = assert_undisturbed(made, twin)
    if not result.run.frames:
        picture, text = still(result)
        assert len(text.splitlines()) > 1
        assert squeezed(text.splitlines()[1]) in picture
    elif len(result.run.frames) < 10:
        assert shown(result)[1] == str(result)


@settings(max_examples=30, derandomize=True, database=None)
@given(PROGRAMS)
def test_random_graphs_are_stepped_undisturbed(program: list[tuple[str, int, int]]) -> None:
    assert_undisturbed(run(program), run(program))


REFUSED = {
    "leaf": (torch.ones(1, requires_grad=True), "is a leaf"),
    "constant": (torch.ones(1), "does not require a gradient"),
    "integers": (torch.tensor([1, 2]), "int64 values"),
    "vector": (
        torch.ones(3, requires_grad=True) * 2,
        "has to be told a gradient of that shape: value.backward(gradient)",
    ),
    "complex": (torch.ones((), dtype=torch.complex64, requires_grad=True) * 2, "is complex"),
    "number": (0.5, "Give the tensor itself"),
    "text": ("loss", "expects a tensor with one number, and got str"),
    "nothing": ((), "as in steps(loss)"),
    "module": (torch.nn.Linear(1, 1), "steps(model(x).sum())"),
}


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("kind", REFUSED)
def test_what_backward_cannot_start_from_gets_a_picture_and_a_sentence(kind: str, language: str) -> None:
    SESSION.language = language
    value, sentence = REFUSED[kind]
    picture, text = still(steps(value))
    title = WORDS["steps.none"].read(language)
    assert text.startswith(title)
    assert squeezed(title) in picture
    assert language != "en" or sentence in text
    assert squeezed(text.splitlines()[1]) in picture


def test_a_vector_is_shown_with_its_graph() -> None:
    x = torch.ones(3, requires_grad=True)
    y = x.exp()
    picture, text = still(steps(y))
    assert "ExpBackward0" in picture
    assert "[0] ExpBackward0 → x" in text


def test_several_outputs_are_told_to_be_added_and_drawn() -> None:
    x = torch.ones(2, requires_grad=True)
    one, two = x.sum(), x.prod()
    for result in (steps(one, two), steps([one, two])):
        picture, text = still(result)
        assert "got 2 tensors" in text
        assert "steps(one + two)" in text
        assert "SumBackward0" in picture
        assert "ProdBackward0" in picture


@dataclass
class ModelOutput:
    loss: torch.Tensor
    logits: torch.Tensor


def test_what_is_advised_for_several_outputs_of_a_model_runs() -> None:
    x = torch.ones(3, requires_grad=True)
    logits, scale, phase = x * 2, x.detach().sum(), (x * 1j).sum()
    out = ModelOutput((logits**2).sum(), logits)
    names: dict[str, Any] = {"steps": steps, "out": out, "logits": logits, "scale": scale, "phase": phase}
    assert "steps(out.loss)" in str(steps(out))
    for several in (out, (logits, scale), (phase, out), (x.exp(), x.sin()), (out.loss, scale)):
        (advice,) = re.findall(r": (steps\(.*\))\.$", str(steps(several)).splitlines()[1])
        assert eval(advice, {**names, "several": several}).run.frames, advice


def test_an_error_without_a_message_is_said_by_its_name() -> None:
    class Unfinished(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
            raise NotImplementedError

    loss = Unfinished.apply(torch.ones(1, requires_grad=True)) * 2  # type: ignore[no-untyped-call]
    result = steps(loss)
    assert result.run.error == "NotImplementedError"
    assert any(line.endswith(": NotImplementedError") for line in str(result).splitlines())


def test_a_number_that_was_saved_stays_a_number_when_it_is_freed() -> None:
    w = torch.tensor(1.0, requires_grad=True)
    result = steps((4 - w * 2) ** 2)
    pictures = [written(ElementTree.fromstring(file)) for file in result._pictures()]
    rows = [re.findall("savedother.*?(?:held|freed)", picture) for picture in pictures]
    assert rows == [["savedother=2anumberheld"]] * 2 + [["savedother=2anumberfreed"]] * 2


def test_a_pass_that_fails_at_its_first_step_is_drawn_with_the_error() -> None:
    x = torch.ones((), requires_grad=True)
    loss = x.exp()
    loss.backward()
    picture, text = still(steps(loss))
    assert "Backward stopped with an error, at ExpBackward0 (loss): RuntimeError" in text
    assert "Backwardstoppedwithanerror,atExpBackward0" in picture
