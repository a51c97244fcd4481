"""`draw`: a picture and the same facts as text, in both languages."""

from __future__ import annotations

import re
import struct
import xml.etree.ElementTree as ET
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace

import nbformat
import numpy as np
import pytest
import torch
from IPython.core.formatters import DisplayFormatter
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.autograd.graph import get_gradient_edge

from autograder import draw
from autograder.authoring.lint import refused_stems
from autograder.language import LANGUAGES, Note
from autograder.messages.drawing import WORDS
from autograder.pictures.draw import Picture
from autograder.pictures.graph.fold import fold
from autograder.session import SESSION
from support import graphs
from support.graphs import AWKWARD
from support.pictures import drawn, image, shown, squeezed, words_of


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", AWKWARD)
def test_every_awkward_graph_is_drawn_and_told(name: str, language: str) -> None:
    SESSION.language = language
    picture = drawn(AWKWARD[name]())
    svg, png, text, metadata = shown(picture)
    assert png.startswith(b"\x89PNG")
    size = metadata["image/png"]
    assert [1.5 * size["width"], 1.5 * size["height"]] == pytest.approx(struct.unpack(">II", png[16:24]), abs=2)
    written, graph = squeezed(words_of(svg)), fold(picture.graph)
    for tensor in graph.tensors:  # every name, kind and gradient, in the picture and in the text
        if tensor.kind in ("leaf", "output"):
            gradient = tensor.grad or ".grad–" if tensor.grad_kept else ""
            for fact in (tensor.name, WORDS[f"kind.{tensor.kind}"].read(language), gradient):
                assert squeezed(fact) in written
                assert squeezed(fact) in squeezed(text)
    total = f"{graph.saved_bytes:,}B" if language == "en" else f"{graph.saved_bytes}Б"
    assert (total in written) == (total in squeezed(text))
    assert graph.saved_bytes == 0 or total in written


def test_the_picture_and_its_text_tell_the_same() -> None:
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    scale = torch.tensor([2.0, 2.0, 2.0])
    h = x * scale
    e = h.exp()
    loss = (e * e + 1).sum()
    svg, _, text, _ = shown(draw(loss, saved=True))
    assert str(draw(loss, saved=True)) == text
    expected = [
        "Backward graph of loss: 6 nodes",
        "x",
        "leaf · requires_grad",
        "scale",
        "constant",
        "h",
        "intermediate",
    ]
    expected += ["output", ".grad –", ".grad not kept", "Σ 2 gradients add up here", "no gradient", "= [1, 2, 3]"]
    expected += ["saved other = scale", "(3,) float32", "12 B", "+0 B: same storage", "+0 B: an input", "held"]
    for fact in expected:
        assert squeezed(fact) in squeezed(words_of(svg)), fact
        assert squeezed(fact.removeprefix("saved ")) in squeezed(text), fact


def test_a_number_is_shown_as_it_was_written() -> None:
    x = torch.ones(2, requires_grad=True)
    loss = (1.0001 * x).sum()
    assert "saved other = 1.0001 · a number · held" in str(draw(loss, saved=True))


def test_gradients_are_a_dash_before_backward_and_values_after() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    m = torch.ones(2, 2, requires_grad=True)
    h = m @ x
    h.retain_grad()
    loss = h.sum()
    assert str(draw(loss)).count(".grad –") == 3
    loss.backward()
    after = str(draw(loss))
    assert ".grad –" not in after
    assert ".grad = [2, 2]" in after
    assert ".grad = [1, 1]" in after
    assert "(2, 2) float32; .grad = ‖·‖ = 3.162" in after
    assert "a second backward() through these nodes is an error" in after


NOT_GRAPHS = {
    "leaf": (torch.ones(2, requires_grad=True), "is a leaf: you made it"),
    "constant": (torch.ones(2), "does not require a gradient"),
    "integers": (torch.tensor([1, 2]), "int64 values"),
    "text": ("loss", "expects a tensor, or several, and got str"),
    "number": (0.5, "A number has no graph"),
    "nothing": ((), "expects a tensor, or several, as in draw(loss)"),
    "none": (None, "got NoneType"),
    "array": (np.ones(2), "got ndarray"),
    "module": (torch.nn.Linear(1, 1), "draw(model(x))"),
    "function": (torch.sin, "got builtin_function_or_method"),
    "node": (torch.ones(2, requires_grad=True).exp().grad_fn, "draw(loss)"),
    "edge": ([get_gradient_edge(torch.ones(2, requires_grad=True).exp())], "got GradientEdge"),
    "mixture": ([torch.ones(1), "x"], "Left out, as it is no tensor: str."),
    "object": (SimpleNamespace(a=1), "got SimpleNamespace"),
}


@pytest.mark.parametrize("kind", NOT_GRAPHS)
def test_what_has_no_graph_gets_a_picture_and_a_sentence(kind: str) -> None:
    value, sentence = NOT_GRAPHS[kind]
    svg, _, text, _ = shown(draw(value))
    assert squeezed(sentence) in squeezed(words_of(svg))
    assert sentence in text
    assert text.startswith("No backward graph")


def test_an_inference_tensor_and_a_refused_view_say_what_they_are() -> None:
    with torch.inference_mode():
        frozen = torch.ones(2)
    assert "frozen was made under inference_mode()" in str(draw(frozen))
    whole = torch.ones(2, 2, requires_grad=True).clone()
    part, _ = whole.unbind()
    whole.mul_(2)
    assert "torch refuses to say" in str(draw(part))


def test_several_outputs_may_be_given_one_by_one_or_in_a_container() -> None:
    x = torch.ones(2, requires_grad=True)
    one, two = x.sum(), x.prod()
    graph = draw(one, two).graph
    assert [graph.tensors[index].name for index in graph.outputs] == ["one", "two"]
    assert draw([one, two]).graph == draw({"a": one, "b": two}).graph == graph


@pytest.mark.parametrize("ending", ["svg", "png", "dot", "PNG"])
def test_a_picture_is_saved_by_the_ending_of_the_name(ending: str, tmp_path: Path) -> None:
    x = torch.ones(2, requires_grad=True)
    file = tmp_path / f"graph.{ending}"
    draw(x.exp().sum()).save(str(file) if ending == "svg" else file)
    begins = {"svg": b"<svg ", "png": b"\x89PNG", "dot": b"digraph {"}
    assert file.read_bytes().startswith(begins[ending.lower()])
    assert ending.lower() == "png" or b"ExpBackward0" in file.read_bytes()


@pytest.mark.parametrize("language", LANGUAGES)
def test_another_ending_is_refused_and_nothing_is_written(language: str, tmp_path: Path) -> None:
    SESSION.language = language
    for name in ("graph.pdf", "graph"):
        with pytest.raises(ValueError, match=rf"\.svg, \.png .*: (got|получено) '{name}'"):
            draw(torch.ones(2, requires_grad=True).exp()).save(tmp_path / name)
    assert not [*tmp_path.iterdir()]


@dataclass
class ModelOutput:
    logits: torch.Tensor
    cache: tuple[torch.Tensor, None]


def test_nested_outputs_of_a_model_are_drawn_and_named() -> None:
    made = torch.nn.LSTM(2, 3)(torch.ones(1, 2))
    graph = draw(made).graph
    assert [graph.tensors[index].names for index in graph.outputs] == [("made[0]",), ("made[1][0]",), ("made[1][1]",)]
    answer = ModelOutput(made[0], (made[1][0], None))
    picture = draw({"answer": answer, "steps": 4})
    assert [picture.graph.tensors[index].names[-1] for index in picture.graph.outputs] == [
        "answer.logits",
        "answer.cache[0]",
    ]
    assert [note for note in picture.graph.notes if note.id == "note.left_out"] == [
        Note("note.left_out", {"types": "int"})
    ]


def test_a_container_that_holds_itself_gets_a_sentence() -> None:
    held: list[object] = [torch.ones(1, requires_grad=True).exp()]
    held.append(held)
    assert "expects a tensor, or several, and got list" in str(draw(held))


def test_inside_transforms_and_modes_of_torch() -> None:
    pictures = []

    def squares(x: torch.Tensor) -> torch.Tensor:
        y = (x * x).sum()
        pictures.append(draw(y))
        return y

    torch.func.grad(squares)(torch.ones(3))
    torch.vmap(squares)(torch.ones(2, 3))
    with FakeTensorMode():
        squares(torch.ones(3, requires_grad=True))
    first, second, third = pictures
    assert [node.name for node in first.graph.nodes][:2] == ["SumBackward0", "MulBackward0"]
    assert [note.id for note in second.graph.notes] == ["note.constant"]
    assert [tensor.names for tensor in third.graph.tensors if tensor.kind == "leaf"] == [("x",)]
    assert all(shown(picture)[1] for picture in pictures)


def test_names_are_those_of_the_function_that_draws() -> None:
    def inside(y: torch.Tensor) -> Picture:
        local = y * 2
        return draw(local)

    x = torch.ones(2, requires_grad=True)
    names = {name for tensor in inside(x.sin()).graph.tensors for name in tensor.names}
    assert names == {"local", "y"}


def test_names_cannot_become_markup() -> None:
    svg = shown(drawn(AWKWARD["names_with_markup"]()))[0]
    assert squeezed("<br/>") in squeezed(words_of(svg))
    tags = {element.tag.rpartition("}")[2] for element in ET.fromstring(svg).iter()}
    assert tags <= {"svg", "g", "a", "title", "text", "path", "polygon", "ellipse", "polyline"}


def test_screen_readers_get_the_caption() -> None:
    x = torch.ones(2, requires_grad=True)
    loss = x.exp().sum()
    page = draw(loss, saved=True)._repr_mimebundle_()[0]["text/html"]
    assert "Kept for backward beyond the inputs: 8 B" in image(page).alt


def test_in_a_cell_the_picture_is_stored_for_every_kind_of_reader() -> None:
    x = torch.ones(2, requires_grad=True)
    data, metadata = DisplayFormatter().format(draw(x.sum()))
    output = nbformat.v4.new_output("execute_result", {**data, "image/png": "aGk="}, metadata=metadata)
    nbformat.validate(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("", outputs=[output])]))
    assert set(data) == {"text/html", "image/png", "text/plain"}


def test_a_picture_stays_as_it_was_and_keeps_nothing_alive() -> None:
    x = torch.ones(2, requires_grad=True)
    loss = x.exp().sum()
    before = draw(loss, saved=True)
    said = str(before)
    loss.backward()
    assert str(before) == said
    assert str(draw(loss, saved=True)) != said


def test_numbers_are_written_as_the_language_does() -> None:
    x = torch.ones(1000, requires_grad=True)
    loss = x.exp().sum()
    assert "inputs: 4,000 B." in str(draw(loss, saved=True))
    SESSION.language = "ru"
    assert "тензоров: 4\N{NO-BREAK SPACE}000 Б." in str(draw(loss, saved=True))


@pytest.mark.parametrize("id", WORDS)
def test_every_sentence_exists_in_both_languages(id: str) -> None:
    text = WORDS[id]
    assert text.placeholders_agree()
    assert all(text)
    assert not [stem for stem in refused_stems() if stem in text.ru.lower()]


@pytest.mark.parametrize("name", AWKWARD)
def test_a_first_look_shows_no_memory(name: str) -> None:
    picture = replace(drawn(AWKWARD[name]()), saved=False)
    refused = [line for line in str(picture).splitlines() if "modified in place" in line]
    assert len(refused) == sum(row.state == "modified" for row in picture.graph.saved)
    rest = [line for line in str(picture).splitlines() if line not in refused]
    assert not re.search(r"\d B\b|\+0 B|held$|freed$", "\n".join(rest), re.MULTILINE)


SCALARS = [
    lambda x, w: (x * w) ** 2 + x.exp(),
    lambda x, w: (x - w * x.sin()).tanh() / w,
    lambda x, w: torch.maximum(x, w).log() * (x * x * w),
    lambda x, w: x[None].sum() * w.reshape(1, 1).squeeze() - x.double().sqrt(),
]


@pytest.mark.parametrize("program", range(len(SCALARS)))
def test_the_numbers_beside_the_arrows_multiply_to_the_gradients(program: int) -> None:
    """Over all ways to a leaf the products of the factors add up to the gradient that torch's engine computes."""
    x, w = (torch.tensor(value, dtype=torch.float64, requires_grad=True) for value in (0.7, 1.9))
    y = SCALARS[program](x, w)
    graph = draw(y).graph
    arrived = {0: 1.0}
    for node in graph.nodes:
        for edge in graph.edges:
            if edge.source == node.id and edge.target is not None:
                arrived[edge.target] = arrived.get(edge.target, 0.0) + arrived[node.id] * float(edge.factor)
    leaves = {graph.tensors[node.leaf].name: arrived[node.id] for node in graph.nodes if node.leaf is not None}
    expected = torch.autograd.grad(y, [x, w])
    assert [leaves["x"], leaves["w"]] == pytest.approx([each.item() for each in expected], rel=2e-3)


def test_numbers_beside_arrows_run_no_code_of_the_learner_and_free_nothing() -> None:
    class Called(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            ran.append("backward")
            return g * 2

    ran: list[str] = []
    x = torch.tensor(3.0, requires_grad=True)
    y = Called.apply(x).exp()
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: ran.append("unpack") or t):
        y = y * x.sin()
    y.grad_fn.register_hook(lambda *_: ran.append("hook"))
    y.grad_fn.register_prehook(lambda *_: ran.append("prehook"))
    x.register_hook(lambda *_: ran.append("leaf"))
    picture = draw(y)
    assert ran == []
    assert x.grad is None
    assert [edge.factor for edge in picture.graph.edges if edge.factor] == ["403.4"]  # of exp alone
    y.backward()
    assert {"backward", "unpack", "hook", "prehook", "leaf"} <= {*ran}


def test_random_pictures_tell_their_total() -> None:
    for step in graphs.STEPS:
        picture = drawn(graphs.run([(step, 0, 1), ("mul", 3, 0), ("tanh", 4, 0)]))
        total = picture.graph.saved_bytes
        assert f"inputs: {total:,} B" in str(picture) or total == 0


class Own:
    """A value of an engine of one's own."""

    def __init__(self, data: torch.Tensor, inputs: tuple[Own, ...] = (), op: str = "") -> None:
        self.data, self.inputs, self.op, self.rule = data, inputs, op, (lambda gradient: ()) if op else None
        self.grad: torch.Tensor | None = None
        self.hooks: list[object] = []


def test_values_of_an_own_engine_are_drawn_as_tensors_are() -> None:
    def program(multiply, add, x, w):
        h = multiply(x, w)
        return h, add(multiply(h, h), h)

    numbers = torch.tensor(3.0), torch.tensor(2.0)
    x, w = (Own(each) for each in numbers)
    h, y = program(lambda a, b: Own(a.data * b.data, (a, b), "*"), lambda a, b: Own(a.data + b.data, (a, b), "+"), x, w)
    x.grad = torch.tensor(26.0)
    h.hooks.append(len)
    own = draw(y)
    x, w = (each.clone().requires_grad_() for each in numbers)
    h, y = program(torch.mul, torch.add, x, w)
    torchs = draw(y)
    edges = [[(edge.source, edge.slot, edge.target) for edge in each.graph.edges] for each in (own, torchs)]
    assert len(edges[0]) == len(edges[1]) == 6
    assert [node.name for node in own.graph.nodes if node.leaf is None] == ["+", "*", "*"]
    assert {tensor.name: (tensor.kind, tensor.value) for tensor in own.graph.tensors} == {
        tensor.name: (tensor.kind, tensor.value) for tensor in torchs.graph.tensors
    }
    assert "x: leaf; = 3; .grad = 26" in repr(own)
    assert "len" in next(line for line in repr(own).splitlines() if "h: intermediate" in line)
    assert "3 gradients add up here" in repr(own)


def test_a_long_chain_of_own_values_is_folded() -> None:
    value = Own(torch.tensor(1.0))
    for _ in range(3000):
        value = Own(value.data, (value,), "tanh")
    assert draw(value).graph.size == 3001
    assert len(repr(draw(value)).splitlines()) < 40
