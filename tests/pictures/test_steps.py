"""`steps`: a backward pass in frames, true to what autograd does, that leaves everything as it was."""

from __future__ import annotations

import base64
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from playwright.sync_api import expect

from autograder import steps
from autograder.language import LANGUAGES
from autograder.learner.session import SESSION
from autograder.messages.drawing import WORDS
from autograder.pictures.graph.model import Gradient
from autograder.pictures.graph.read import refusal
from autograder.pictures.graph.torch_objects import brief
from autograder.pictures.steps import SHOWN, Steps
from support.browser import browser_page
from support.graphs import AWKWARD, STEPS, Made, run
from support.pictures import gradients

PROGRAMS = st.lists(st.tuples(st.sampled_from(sorted(STEPS)), st.integers(0, 99), st.integers(0, 99)), max_size=12)


def stepped(made: Made) -> Steps:
    """`steps` called by someone with these variables."""
    result: Steps = eval("steps(*_outputs)", {**made.names, "steps": steps, "_outputs": made.outputs})
    return result


def shown(result: Steps) -> tuple[str, str]:
    """The page of a pass that was run, and its text."""
    bundle = result._repr_mimebundle_()
    assert isinstance(bundle, dict)
    return bundle["text/html"], bundle["text/plain"]


def still(result: Steps) -> tuple[str, str]:
    """The picture shown where no step was taken: what is written in it, and its text."""
    bundle = result._repr_mimebundle_()
    assert isinstance(bundle, tuple)
    assert bundle[0]["image/png"].startswith(b"\x89PNG")
    return written(ElementTree.fromstring(bundle[0]["image/svg+xml"])), bundle[0]["text/plain"]


class Page(HTMLParser):
    """What a reader without scripts sees: words, headings, pictures; fails where an element is not closed."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.words: list[str] = []
        self.opened: list[bool] = []
        self.pictures: list[ElementTree.Element] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        if tag == "details":
            self.opened.append("open" in dict(attrs))
        if tag == "img":
            kind, _, data = (dict(attrs)["src"] or "").partition("base64,")
            assert kind == "data:image/svg+xml;"
            self.pictures.append(ElementTree.fromstring(base64.b64decode(data)))
        else:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "script" not in self.open:
            self.words.append(data)


def squeezed(text: str) -> str:
    return re.sub(r"\s+", "", text)


def written(picture: ElementTree.Element) -> str:
    return squeezed("".join("".join(text.itertext()) for text in picture.iter("{http://www.w3.org/2000/svg}text")))


def state(made: Made) -> list[object]:
    """All that stepping could change: the objects in `.grad`, their numbers and versions, and the versions."""
    tensors = [t for t in made.names.values() if isinstance(t, torch.Tensor) and refusal(t) is None]
    grads = [t.grad if t.is_leaf or t.retains_grad else None for t in tensors]
    told = [(id(grad), None if grad is None else (grad._version, str(grad))) for grad in grads]
    return [told, [t._version for t in tensors], [len(t._backward_hooks or {}) for t in tensors], torch.get_rng_state()]


def same(before: list[object], after: list[object]) -> bool:
    return before[:-1] == after[:-1] and torch.equal(before[-1], after[-1])  # type: ignore[arg-type]


def assert_true(made: Made, result: Steps) -> None:
    """What waits goes on from frame to frame, and is what arrives in the end, but for what hooks change."""
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
def test_awkward_graphs(name: str) -> None:
    made, twin = AWKWARD[name](), AWKWARD[name]()
    result = assert_undisturbed(made, twin)
    if not result.run.frames:
        picture, text = still(result)
        assert len(text.splitlines()) > 1
        assert squeezed(text.splitlines()[1]) in picture
    elif len(result.run.frames) < 10:
        assert shown(result)[1] == str(result)


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(PROGRAMS)
def test_random_graphs(program: list[tuple[str, int, int]]) -> None:
    assert_undisturbed(run(program), run(program))


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", ["names_with_markup", "hooks_and_retained_gradients", "outputs_of_unbind", "sparse"])
def test_page_and_text_tell_the_same(name: str, language: str) -> None:
    SESSION.language = language
    made = AWKWARD[name]()
    result = stepped(made)
    html, text = shown(result)
    page = Page(html)
    words = squeezed("".join(page.words))
    for line in text.splitlines():
        assert squeezed(line) in words
    assert page.opened == [True] + [False] * (len(result.run.frames) - 1)
    assert len(page.pictures) == len(result.run.frames)
    assert page.tags <= {"div", "p", "strong", "details", "summary", "ul", "li", "img", "script"}
    for frame, picture in zip(result.run.frames, page.pictures):
        name = result.graph.nodes[frame.node].name
        assert f"▶{name}" in written(picture)
        assert written(picture).count("▶") == 1
        for sent in frame.sent:
            assert squeezed(sent.after.said) in written(picture)
        if frame.landed and not frame.landed.changed:
            assert f".grad={squeezed(frame.landed.after.said)}" in written(picture)
    last = written(page.pictures[-1])
    assert "▷" not in last


def test_hooks_of_the_learner_run_and_are_told() -> None:
    x = torch.ones(2, requires_grad=True)
    h = x * 3
    called = []

    def clip(gradient: torch.Tensor) -> torch.Tensor:
        called.append("clip")
        return gradient.clamp(max=1)

    def halve(leaf: torch.Tensor) -> None:
        called.append("halve")
        assert leaf.grad is not None
        leaf.grad /= 2

    def watch(*_: Any) -> None:
        called.append("watch")

    h.register_hook(clip)
    x.register_post_accumulate_grad_hook(halve)
    loss = (h * h).sum()
    assert loss.grad_fn is not None
    loss.grad_fn.register_hook(watch)
    loss.grad_fn.register_prehook(watch)
    result = steps(loss)
    assert called == ["watch", "watch", "clip", "halve"]
    assert [frame.hooks for frame in result.run.frames] == [("watch", "watch"), (), ("clip",), ("halve",)]
    text = str(result)
    assert "Hooks of yours ran on the way (watch, clip, halve)" in text
    assert "a hook changed the gradient: [6, 6] → [1, 1]" in text
    assert "x.grad: – + [3, 3] = [3, 3]\n  after your hook, x.grad is [1.5, 1.5]" in text
    assert x.grad is None
    called.clear()
    loss.backward()
    assert called == ["watch", "watch", "clip", "halve"]


def test_what_a_hook_on_a_forgotten_tensor_changes_is_told() -> None:
    x = torch.ones(2, requires_grad=True)

    def forward(t: torch.Tensor) -> torch.Tensor:
        h = t * 2
        h.register_hook(lambda g: g * 10)
        return h + 1

    loss = forward(x).sum()
    assert "a hook changed the gradient: [1, 1] → [10, 10]" in str(steps(loss))


def test_an_exception_in_a_hook_leaves_everything_as_it_was() -> None:
    def make() -> Made:
        x, w = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
        w.grad = torch.full((2,), 5.0)
        h = x * 2
        loss = (h * 1).sum() + (w * 3).sum()
        return Made((loss,), locals())

    made = make()
    handle = made.names["h"].register_hook(lambda g: 1 / 0)
    before = state(made)
    result = stepped(made)
    assert result.run.error == "ZeroDivisionError: division by zero"
    assert "Backward stopped with an error" in str(result)
    assert result.run.frames
    assert same(before, state(made))
    handle.remove()
    assert gradients(made) == gradients(make())


def test_a_hook_that_runs_a_pass_of_its_own_makes_no_frames() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    h = x.exp()
    loss, other = (h * h).sum(), h.sum()
    assert loss.grad_fn is not None
    loss.grad_fn.register_hook(lambda *_: torch.autograd.grad(other, x, retain_graph=True) and None)
    result = steps(loss)
    assert [result.graph.nodes[frame.node].name for frame in result.run.frames] == [
        "SumBackward0",
        "MulBackward0",
        "ExpBackward0",
        "AccumulateGrad",
    ]


def test_retained_gradients_come_back_too() -> None:
    x = torch.ones(2, requires_grad=True)
    h = x * 2
    h.retain_grad()
    loss = h.sum()
    assert "retain_grad(): h.grad is [1, 1]" in str(steps(loss))
    assert (h.grad, x.grad) == (None, None)
    loss.backward()
    assert h.grad is not None
    assert h.grad.tolist() == [1, 1]


def test_random_numbers_of_a_backward_do_not_show() -> None:
    class Noisy(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            return x * 2

        @staticmethod
        def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
            return gradient + torch.rand(2)

    x = torch.ones(2, requires_grad=True)
    loss = Noisy.apply(x).sum()
    before = torch.get_rng_state()
    assert steps(loss).run.frames
    assert torch.equal(torch.get_rng_state(), before)


def test_inside_a_transform_and_without_grad_mode_nothing_is_raised() -> None:
    said = []

    def square(x: torch.Tensor) -> torch.Tensor:
        y = (x * x).sum()
        said.append(str(steps(y)))
        return y

    torch.func.grad(square)(torch.ones(3))
    assert "Backward could not start: RuntimeError" in said[0]
    x = torch.ones(2, requires_grad=True)
    loss = x.exp().sum()
    with torch.no_grad():
        assert len(steps(loss).run.frames) == 3


def test_a_checkpoint_inside_gives_nothing_to_leaves_that_the_graph_hides() -> None:
    made = AWKWARD["checkpointed_reentrantly"]()
    stepped(made)
    assert made.names["x"].grad is None


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


def test_a_freed_graph_says_where_backward_would_stop() -> None:
    result = stepped(AWKWARD["after_backward"]())
    text = str(result)
    assert "at MulBackward0: RuntimeError: Trying to backward through the graph a second time" in text
    assert "retain_graph=True would have kept it" in text
    *before, last = Page(shown(result)[0]).pictures
    assert "✗MulBackward0" in written(last)
    assert not any("✗" in written(picture) for picture in before)


@pytest.mark.parametrize("name", ["recurrent", "thousands_of_nodes_in_a_row", "a_thicket"])
def test_of_a_large_graph_the_first_steps_are_shown(name: str) -> None:
    result = stepped(AWKWARD[name]())
    html, text = shown(result)
    page = Page(html)
    assert len(result.run.frames) > 400
    assert len(page.opened) == len(page.pictures) == SHOWN
    assert f"these are the first {SHOWN}" in text
    landed = [frame.landed for frame in result.run.frames if frame.landed]
    assert landed
    assert all(landing.after.said in text for landing in landed)
    assert len(html) < 1_000_000


def test_the_arrow_keys_and_the_buttons_step(tmp_path: Path) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    loss = (x * x).sum()
    html, _ = shown(steps(loss))
    (tmp_path / "page.html").write_text(f"<!doctype html><meta charset=utf-8>{html}{html}", encoding="utf-8")
    with browser_page() as page:
        page.goto((tmp_path / "page.html").as_uri())
        stepper, other = page.locator("[data-steps]").all()
        visible = stepper.locator("summary:visible")
        expect(visible).to_have_text("1. SumBackward0 (loss)")
        stepper.focus()
        page.keyboard.press("ArrowRight")
        expect(visible).to_have_text("2. MulBackward0")
        assert stepper.locator("img:visible").evaluate("picture => picture.naturalWidth") > 100
        page.keyboard.press("End")
        expect(visible).to_have_text("3. AccumulateGrad (x)")
        page.keyboard.press("ArrowRight")
        expect(visible).to_have_text("3. AccumulateGrad (x)")
        expect(stepper.get_by_role("button", name="Next step")).to_be_disabled()
        stepper.get_by_role("button", name="Previous step").click()
        page.keyboard.press("ArrowLeft")
        expect(visible).to_have_text("1. SumBackward0 (loss)")
        expect(stepper.get_by_text("step 1 of 3")).to_be_visible()
        expect(other.locator("summary:visible")).to_have_text("1. SumBackward0 (loss)")


def test_without_its_script_every_step_can_be_opened(tmp_path: Path) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    html = re.sub(r"<script>.*</script>", "", shown(steps((x * x).sum()))[0], flags=re.DOTALL)
    (tmp_path / "page.html").write_text(f"<!doctype html><meta charset=utf-8>{html}", encoding="utf-8")
    with browser_page() as page:
        page.goto((tmp_path / "page.html").as_uri())
        expect(page.locator("summary:visible")).to_have_count(3)
        expect(page.locator("img:visible")).to_have_count(1)
        page.locator("summary").nth(2).click()
        expect(page.locator("img:visible")).to_have_count(2)
