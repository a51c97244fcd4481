"""Plots: the numbers are those of torch, text and picture say the same, and nothing is different afterwards."""

from __future__ import annotations

import itertools
import math
import os
import re
import struct
import subprocess
import sys
import warnings
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pytest
import torch
from matplotlib.colors import to_rgb
from torch.autograd.graph import saved_tensors_hooks
from torch.nn.functional import mse_loss
from torch.utils.checkpoint import checkpoint

import autograder
from autograder import (
    exercises,
    plot_accumulation,
    plot_differences,
    plot_jacobian,
    plot_memory,
    plot_progress,
    plot_saved,
)
from autograder.authoring.lint import BANNED
from autograder.checking.verdict import AspectResult, Verdict
from autograder.language import LANGUAGES
from autograder.learner.history import record
from autograder.learner.session import SESSION
from autograder.measure import counting_backward_runs, live_bytes
from autograder.messages.plots import WORDS
from autograder.pictures.plots import base as plot

J = torch.linspace(0, 9, 24).reshape(4, 6).sin()
LEFT, RIGHT = torch.tensor([0.0, 0.0, 1.0, 0.0]), torch.tensor([0.0, 0.7, 0.0, 0.0, 0.7, 0.0])
NET = torch.nn.Sequential(*[torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Tanh()) for _ in range(4)])
DATA = torch.ones(32, 8)
ACTIVATION = 32 * 8 * 4


def plain(x: torch.Tensor) -> torch.Tensor:
    return NET(x)


def half(x: torch.Tensor) -> torch.Tensor:
    """Saves each activation in half the bytes, but each time that it is saved."""
    with saved_tensors_hooks(lambda t: t.bfloat16() if t.shape == x.shape else t, lambda t: t.float()):
        return NET(x)


def every_layer(x: torch.Tensor) -> torch.Tensor:
    for layer in NET:
        x = checkpoint(layer, x, use_reentrant=False)
    return x


def everything(x: torch.Tensor) -> torch.Tensor:
    return checkpoint(NET, x, use_reentrant=False)


def loop(*, zero_inside: bool = False, watch: Callable[[Any], Any] = lambda model: model) -> Any:
    """Six micro-batches, a step after each second one; the recorder, the model and the losses by hand."""
    torch.manual_seed(0)
    model = torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    told: list[tuple[float, float, float]] = []

    def norm() -> float:
        return math.sqrt(sum(float((p.grad**2).sum()) for p in model.parameters() if p.grad is not None))

    with plot_accumulation(watch(optimizer)) as seen:
        for i in range(6):
            if zero_inside:
                optimizer.zero_grad()
            x = torch.randn(4, 3)
            loss = mse_loss(model(x), x.sum(1, keepdim=True)) / 2
            before = norm()
            loss.backward()
            told.append((loss.item(), before, norm()))
            if i % 2:
                optimizer.step()
                if not zero_inside:
                    optimizer.zero_grad()
    return seen, model, told


def met() -> None:
    """A learner who has begun two lessons, and met a mistake twice."""
    known = exercises.load("leaf_tensors")
    (failed, passed), mistake = list(known.values())[:2], next(iter(next(iter(known.values())).mistakes))
    for _ in range(2):
        wrong = (AspectResult("v", failed.points, 0, "wrong"),)
        record(Verdict(failed.name, "leaf_tensors", 1, "not yet", wrong, mistake=mistake))
    for exercise in (passed, *exercises.load("first_gradient").values()):
        right = (AspectResult("v", exercise.points, exercise.points, "right"),)
        record(Verdict(exercise.name, exercise.lesson, 1, "passed", right))


def progressed() -> Any:
    met()
    return plot_progress()


PLOTS: dict[str, Callable[[], Any]] = {
    "jacobian": lambda: plot_jacobian(J, left=LEFT, right=RIGHT),
    "jacobian_alone": lambda: plot_jacobian(lambda x: x.sin().outer(x), torch.ones(2)),
    "jacobian_large": lambda: plot_jacobian(torch.eye(40), left=torch.ones(40)),
    "accumulation": lambda: loop()[0],
    "differences": lambda: plot_differences(torch.sin, 1.0),
    "differences_exact": lambda: plot_differences(lambda x: 2 * x, torch.tensor([1.0, 2.0])),
    "saved": lambda: plot_saved(NET, DATA, plain, half, every_layer),
    "memory": lambda: plot_memory(DATA, plain, every_layer, everything),
    "memory_wrapped": lambda: plot_memory(DATA, *[plain] * 5),
    "progress": progressed,
}


def shown(made: Any) -> tuple[str, bytes, str, dict[str, Any]]:
    bundle, metadata = made._repr_mimebundle_()
    return bundle["image/svg+xml"], bundle["image/png"], bundle["text/plain"], metadata


def written(svg: str) -> list[str]:
    """What is written in the picture, text by text."""
    return ["".join(text.itertext()).strip() for text in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("kind", PLOTS)
def test_every_plot_is_a_picture_and_a_text(kind: str, language: str) -> None:
    SESSION.language = language
    made = PLOTS[kind]()
    before = dict(matplotlib.rcParams)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        svg, png, text, metadata = shown(made)
    assert dict(matplotlib.rcParams) == before
    assert "matplotlib.pyplot" not in sys.modules or not sys.modules["matplotlib.pyplot"].get_fignums()
    assert text == repr(made) == str(made)
    size = metadata["image/png"]
    assert (2 * size["width"], 2 * size["height"]) == pytest.approx(struct.unpack(">II", png[16:24]), abs=2)
    assert size["width"] <= 800
    root = ET.fromstring(svg)
    assert root.attrib["role"] == "img"
    assert "max-width:100%;height:auto" in root.attrib["style"]
    assert root.attrib["aria-label"].startswith(text.splitlines()[0])
    assert not list(root.iter("{http://www.w3.org/2000/svg}style"))
    assert svg == shown(made)[0]  # the same plot is the same picture
    cyrillic = re.compile("[а-яё]", re.I)
    assert bool(cyrillic.search(text)) == bool(cyrillic.search(" ".join(written(svg)))) == (language == "ru")


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("kind", PLOTS)
def test_nothing_that_is_written_is_cut_or_covered(kind: str, language: str) -> None:
    SESSION.language = language
    made = PLOTS[kind]()
    with plot._styled():
        figure = made.figure()
        figure.draw_without_rendering()
        renderer = figure._get_renderer()
        texts = [t for t in figure.findobj(matplotlib.text.Text) if t.get_visible() and t.get_text().strip()]
        boxes = {t: t.get_window_extent(renderer) for t in texts}
        page = figure.bbox
        ticks = [label for axes in figure.findobj(matplotlib.axes.Axes) for label in _hidden_ticks(axes)]
    drawn = [(t.get_text(), box) for t, box in boxes.items() if t not in ticks]
    assert drawn
    for said, box in drawn:
        inside = box.x0 >= -1 and box.y0 >= -1 and box.x1 <= page.x1 + 1 and box.y1 <= page.y1 + 1
        assert inside, said
    for (one, a), (other, b) in itertools.combinations(drawn, 2):
        across, up = min(a.x1, b.x1) - max(a.x0, b.x0), min(a.y1, b.y1) - max(a.y0, b.y0)
        assert not (across > 2 and up > 2), (one, other)


def _hidden_ticks(axes: Any) -> list[Any]:
    """Labels of ticks that lie outside of the axes: matplotlib makes them and does not draw them."""
    hidden = []
    for axis, (low, high) in ((axes.xaxis, sorted(axes.get_xlim())), (axes.yaxis, sorted(axes.get_ylim()))):
        for tick in axis.get_major_ticks() + axis.get_minor_ticks():
            if not low - 1e-9 * abs(low) <= tick.get_loc() <= high + 1e-9 * abs(high):
                hidden += [tick.label1, tick.label2]
    return hidden


# -- the numbers ------------------------------------------------------------------------------------------------------


def test_products_are_those_of_autograd() -> None:
    w = torch.linspace(-1, 1, 12).reshape(4, 3)

    def f(x: torch.Tensor) -> torch.Tensor:
        return (w @ x.flatten()).sin().reshape(2, 2)

    x = torch.tensor([[0.5], [1.0], [2.0]], requires_grad=True)
    v, u = torch.tensor([[1.0, 0.0], [0.0, 2.0]]), torch.tensor([0.0, 1.0, 0.0])
    made = plot_jacobian(f, x, left=v, right=u)
    y = f(x)
    (vjp,) = torch.autograd.grad(y, x, v)
    jvp = torch.autograd.functional.jvp(f, x.detach(), u.reshape(3, 1))[1]
    whole = torch.autograd.functional.jacobian(f, x.detach()).reshape(4, 3)
    torch.testing.assert_close(torch.tensor(made.matrix), whole)
    torch.testing.assert_close(torch.tensor(made.left_product), vjp.flatten())
    torch.testing.assert_close(torch.tensor(made.right_product), jvp.flatten())
    assert x.grad is None
    lines = str(made).splitlines()
    assert f"vᵀJ: {', '.join(f'{entry:.3g}' for entry in vjp.flatten().tolist())}" in lines
    assert f"J v: {', '.join(f'{entry:.3g}' for entry in jvp.flatten().tolist())}" in lines
    assert "v from the left weighs rows: 1, 0, 0, 2; not zero at 0, 3" in lines
    assert {f"{entry:.2g}" for entry in whole.flatten().tolist()} <= set(written(shown(made)[0]))


@pytest.mark.parametrize("zero_inside", [False, True])
@pytest.mark.parametrize("watch", ["optimizer", "model", "parameters"])
def test_the_timeline_is_what_the_loop_did(zero_inside: bool, watch: str) -> None:
    watches: dict[str, Callable[[Any], Any]] = {
        "optimizer": lambda optimizer: optimizer,
        "model": lambda optimizer: torch.nn.ParameterList(optimizer.param_groups[0]["params"]),
        "parameters": lambda optimizer: iter(optimizer.param_groups[0]["params"]),
    }
    seen, model, told = loop(zero_inside=zero_inside, watch=watches[watch])
    assert [(one.loss, one.before, one.after) for one in seen.passes] == [pytest.approx(three) for three in told]
    assert [len(one.steps) for one in seen.passes] == [0, 1, 0, 1, 0, 1]
    assert [one.before == 0 for one in seen.passes] == [zero_inside or i % 2 == 0 for i in range(6)]
    for number, (loss, before, after) in enumerate(told, 1):
        assert f"{number}: loss {loss:.3g}, norm of .grad {before:.3g} → {after:.3g}" in str(seen)
    assert str(seen).count("step, with norm") == 3
    _, twin, _ = loop(zero_inside=zero_inside, watch=lambda _: 5)
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), twin.parameters()))


def test_the_recorder_leaves_nothing_behind_even_when_the_loop_ends_with_an_error() -> None:
    import torch.optim.optimizer as module

    engine, hooks = torch.autograd._engine_run_backward, dict(module._global_optimizer_post_hooks)
    w = torch.ones(2, requires_grad=True)
    seen = plot_accumulation(w)

    def ends_early() -> None:
        with seen:
            w.sum().backward()
            raise ValueError("on purpose")

    with pytest.raises(ValueError, match="on purpose"):
        ends_early()
    w.sum().backward()
    assert len(seen.passes) == 1
    assert torch.autograd._engine_run_backward is engine
    assert dict(module._global_optimizer_post_hooks) == hooks
    assert not w._backward_hooks


def test_only_passes_that_fill_grad_count_and_a_nan_is_told() -> None:
    w = torch.ones(2, requires_grad=True)
    with plot_accumulation([w]) as seen, counting_backward_runs() as count:
        torch.autograd.grad((w * w).sum(), w)
        (w * w).backward(torch.tensor([1.0, math.nan]))
        checkpoint(lambda h: (h * h).sum(), w, use_reentrant=True).backward()
    assert count.times == 4
    assert len(seen.passes) == 2
    assert "1: loss –, norm of .grad 0 → nan" in str(seen)
    assert "nan or inf in backward pass 1, 2" in written(shown(seen)[0])
    assert "without a step" not in str(seen)  # nobody has made one


def test_of_a_long_loop_the_first_passes_are_shown() -> None:
    w = torch.ones(1, requires_grad=True)
    with plot_accumulation(w) as seen:
        for _ in range(200):
            (w * 2).sum().backward()
    assert len(seen.passes) == 200
    assert "60: loss 2, norm of .grad 118 → 120" in str(seen)
    assert "61:" not in str(seen)
    assert "The first 60 of 200 backward passes." in written(shown(seen)[0])


@pytest.mark.parametrize("losses", [(8.0, 2.0, 2.88), (1.0, 5.0), (3.0,), (-1.0, -4.0)])
def test_every_marker_is_whole(losses: tuple[float, ...]) -> None:
    w = torch.ones(1, requires_grad=True)
    with plot_accumulation(w) as seen:
        for factor in losses:
            (w * factor).sum().backward()
    with plot._styled():
        figure = seen.figure()
        figure.draw_without_rendering()
        for axes in figure.axes:
            for line in axes.lines:
                if line.get_marker() in ("o", "s"):
                    radius = (line.get_markersize() + line.get_markeredgewidth()) / 2 * figure.dpi / 72
                    for _, height in axes.transData.transform(line.get_xydata()):
                        assert axes.bbox.y0 + radius <= height <= axes.bbox.y1 - radius


def test_saved_bytes_are_what_the_graph_keeps() -> None:
    made = plot_saved(NET, DATA, plain, half, every_layer, everything)
    totals = {}
    for way in (plain, half, every_layer, everything):
        with live_bytes() as live:
            node = way(DATA).grad_fn  # the result itself is gone, unless it is saved
            totals[way.__name__] = live.now
        del node
    assert {name: sum(layers.values()) for name, layers in made.bytes.items()} == totals
    assert made.bytes["plain"] == {f"{i} Sequential": ACTIVATION for i in range(4)}
    assert made.bytes["every_layer"] == {f"{i} Sequential": ACTIVATION for i in range(3)}
    assert made.bytes["everything"] == {}
    for name, total in totals.items():
        assert f"{name}: {total:,} B in all" in str(made)
        assert f"{name}: {total:,} B in all" in written(shown(made)[0])
    assert "  3 Sequential: 0 B" in str(made)


def test_what_is_saved_outside_of_the_layers_and_of_many_layers() -> None:
    net = torch.nn.Sequential(*[torch.nn.Tanh() for _ in range(40)])
    x = torch.ones(10, requires_grad=True)
    made = plot_saved(net, x, lambda x: net(x).exp())
    assert made.bytes["<lambda>"][""] == 40
    assert "… and 18 more: 720 B" in str(made)
    assert "<lambda>: 1,640 B in all" in str(made)


def test_batch_norm_counts_nothing_and_no_hook_is_left() -> None:
    net = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.BatchNorm1d(8), torch.nn.Dropout(0.5))
    buffers = {name: (held, held._version, held.clone()) for name, held in net.named_buffers()}
    state = torch.get_rng_state()
    plot_saved(net, DATA)
    plot_memory(DATA, net)
    assert torch.equal(torch.get_rng_state(), state)
    for name, held in net.named_buffers():
        same, version, value = buffers[name]
        assert held is same
        assert held._version == version
        assert torch.equal(held, value)
    assert not any(part._forward_hooks or part._forward_pre_hooks for part in net.modules())
    assert all(p.grad is None for p in net.parameters())


def test_the_peak_is_that_of_live_bytes() -> None:
    made = plot_memory(DATA, plain, every_layer, everything)
    for course, way in zip(made.courses, (plain, every_layer, everything)):
        NET.zero_grad()
        with live_bytes() as live:
            loss = way(DATA).sum()
            kept = live.now
            loss.backward()
        NET.zero_grad()
        assert (course.name, course.peak) == (way.__name__, live.peak)
        (first, last), *_ = course.backwards
        assert course.settled[first - 2] == kept
        assert last == len(course.samples)
        assert f"{way.__name__}: peak {live.peak:,} B, in the backward pass" in str(made)
        assert f"forward pass, operations 1–{first - 1}: {kept:,} B alive at its end" in str(made)
        assert f"peak {live.peak:,} B" in written(shown(made)[0])


def test_memory_of_a_loop_that_goes_backward_itself() -> None:
    def one_at_a_time(k: int) -> None:
        for _ in range(k):
            (plain(DATA).sum() / k).backward()

    def all_at_once(k: int) -> None:
        sum(plain(DATA).sum() / k for _ in range(k)).backward()  # type: ignore[union-attr]

    small, large = plot_memory(4, one_at_a_time, all_at_once).courses
    assert (len(small.backwards), len(large.backwards)) == (4, 1)
    assert [kind for kind, _, _ in small.phases()] == ["forward", "backward"] * 4
    assert large.peak > 2 * small.peak


def test_gradients_are_put_back_and_equal_a_twins() -> None:
    def made() -> tuple[torch.nn.Module, torch.Tensor | None]:
        torch.manual_seed(1)
        net = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
        net(DATA).sum().backward()
        return net, net[0].weight.grad

    net, gradient = made()
    twin, _ = made()
    value = gradient.clone()  # type: ignore[union-attr]
    plot_memory(DATA, net, lambda x: checkpoint(net, x.clone().requires_grad_(), use_reentrant=True))
    plot_saved(net, DATA)
    plot_jacobian(net, DATA[0])
    plot_differences(lambda x: x * net[0].weight.sum().to(x.dtype), 1.0)
    assert net[0].weight.grad is gradient
    assert torch.equal(gradient, value)
    for one in (net, twin):
        one(DATA).sum().backward()
    assert all(torch.equal(a.grad, b.grad) for a, b in zip(net.parameters(), twin.parameters()))


def test_errors_of_differences_are_those_by_hand() -> None:
    made = plot_differences(torch.sin, 1.0)
    assert [(curve.kind, curve.dtype) for curve in made.curves] == [
        (kind, dtype) for dtype in ("float64", "float32") for kind in ("one_sided", "central")
    ]
    for curve in made.curves:
        x = torch.tensor(1.0, dtype=getattr(torch, curve.dtype))
        for step, error in zip(curve.steps, curve.errors):
            h = torch.tensor(step, dtype=x.dtype)
            by_hand = ((x + h).sin() - x.sin()) / h
            if curve.kind == "central":
                by_hand = ((x + h).sin() - (x - h).sin()) / (2 * h)
            assert error == abs(by_hand.double() - math.cos(1.0)).item()
        worst = [max(curve.errors[max(i - 1, 0) : i + 2]) for i in range(len(curve.errors))]
        assert worst[curve.best] == min(worst)
        said = f"best step about {plot.power(curve.steps[curve.best])}, error there up to {plot.power(min(worst))}"
        assert said in str(made)
        assert any(said in text for text in written(shown(made)[0]))
    best = [math.log10(curve.steps[curve.best]) for curve in made.curves]
    assert best == [pytest.approx(power, abs=1) for power in (-8, -5.3, -3.7, -2.5)]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (10**-5, "10⁻⁵"),
        (10**-5.25, "6·10⁻⁶"),
        (9.7e-3, "10⁻²"),
        (0.5, "5·10⁻¹"),
        (1, "10⁰"),
        (4e12, "4·10¹²"),
        (0, "0"),
    ],
)
def test_a_power_is_a_digit_and_a_whole_exponent(value: float, said: str) -> None:
    assert plot.power(value) == said


def test_the_error_is_of_the_worst_entry_of_a_jacobian() -> None:
    x = torch.tensor([[0.5, 2.0]], dtype=torch.float64)
    made = plot_differences(lambda x: torch.cat([x**3, x.exp()]), x)
    curve, h = made.curves[1], made.curves[1].steps[0]
    cubes, exps = torch.full((2,), h**2), x[0].exp() * (math.sinh(h) / h - 1)
    assert curve.errors[0] == pytest.approx(max(cubes.max().item(), exps.max().item()), rel=1e-9)


def test_progress_is_that_of_the_record() -> None:
    made = progressed()
    leaf, first = (next(one for one in made.lessons if one.name == name) for name in ("leaf_tensors", "first_gradient"))
    failed, passed = list(exercises.load("leaf_tensors").values())[:2]
    assert (leaf.earned, leaf.solved) == (passed.points, 1)
    assert leaf.maximum == sum(one.points for one in exercises.load("leaf_tensors").values() if one.core)
    assert leaf.mistakes == ((failed.name, next(iter(failed.mistakes))),)
    assert first.earned == first.maximum
    assert made.others == len(exercises.lessons()) - 2
    text = str(made)
    assert f"leaf_tensors: {passed.points:g} of {leaf.maximum:g} points, 1 of {leaf.count} exercises" in text
    assert failed.mistakes[leaf.mistakes[0][1]].says.en in text
    assert f"{passed.points:g} / {leaf.maximum:g}" in written(shown(made)[0])


def test_numbers_are_written_as_the_language_does() -> None:
    wide = torch.ones(1024, 8)
    SESSION.language = "ru"
    for made in (plot_saved(NET, wide, plain), plot_memory(wide, plain)):
        whole, svg = str(made), " ".join(written(shown(made)[0]))
        for text in (whole, svg):
            assert re.search("\\d\N{NO-BREAK SPACE}\\d{3} Б", text)
            assert not re.search(r"\d,\d{3}", text)


def test_a_jacobian_says_what_it_is_and_speaks_of_products_only_where_it_has_some() -> None:
    for made, title in (
        (plot_jacobian(J), "The Jacobian, J of shape (4, 6)"),
        (plot_jacobian(J, left=LEFT), "The Jacobian and its products, J of shape (4, 6)"),
    ):
        assert str(made).startswith(f"{title}\n")
        assert title in written(shown(made)[0])


# -- bad input --------------------------------------------------------------------------------------------------------

POINT = torch.ones(2)
NOT_FINITE = torch.tensor([[1.0, math.nan]])
REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "jacobian of a number": (lambda: plot_jacobian(3), "It got int"),
    "jacobian of nothing": (lambda: plot_jacobian(None), "It got NoneType"),
    "jacobian without a point": (lambda: plot_jacobian(torch.sin), "plot_jacobian(f, x)"),
    "jacobian at a number": (lambda: plot_jacobian(torch.sin, 3), "It got int"),
    "jacobian at integers": (lambda: plot_jacobian(torch.sin, torch.tensor([1, 2])), "give x.float()"),
    "jacobian at complex": (lambda: plot_jacobian(torch.sin, POINT.to(torch.complex64)), "x.real"),
    "jacobian complex": (lambda: plot_jacobian(lambda x: x.to(torch.complex64), POINT), "f(x) is complex"),
    "jacobian complex matrix": (lambda: plot_jacobian(J.to(torch.complex64)), "J is complex"),
    "jacobian of a vector": (lambda: plot_jacobian(POINT), "J has shape (2,)"),
    "jacobian empty": (lambda: plot_jacobian(torch.ones(0, 3)), "neither of them empty"),
    "jacobian of no inputs": (lambda: plot_jacobian(lambda x: x.sum(), torch.ones(0)), "(1, 0)"),
    "jacobian with nan": (lambda: plot_jacobian(NOT_FINITE), "the first at [0, 1]"),
    "jacobian with inf": (
        lambda: plot_jacobian(torch.sqrt, torch.zeros(2)),
        "J has entries that are nan or inf, 4 in all",
    ),
    "jacobian too large": (lambda: plot_jacobian(torch.ones(100, 100)), "at most 2,500"),
    "jacobian too large of a function": (lambda: plot_jacobian(torch.sin, torch.ones(100)), "(100, 100)"),
    "jacobian constant": (lambda: plot_jacobian(lambda x: x.detach(), POINT), "nothing to differentiate"),
    "jacobian not a tensor": (lambda: plot_jacobian(lambda x: [x], POINT), "returned list"),
    "jacobian raising": (lambda: plot_jacobian(lambda x: 1 / 0, POINT), "ZeroDivisionError: division by zero"),
    "jacobian meta": (lambda: plot_jacobian(torch.ones(2, 2, device="meta")), "cannot be read here"),
    "jacobian product of large numbers": (
        lambda: plot_jacobian(torch.full((2, 2), 1e308, dtype=torch.float64), left=POINT),
        "vᵀJ has entries that are nan or inf",
    ),
    "left of another size": (lambda: plot_jacobian(J, left=RIGHT), "has 4 rows"),
    "right of another size": (lambda: plot_jacobian(J, right=LEFT), "has 6 columns"),
    "left no tensor": (lambda: plot_jacobian(J, left=[0, 1, 0, 0]), "left has to be a tensor of real numbers"),
    "right not finite": (
        lambda: plot_jacobian(torch.ones(1, 2), right=NOT_FINITE[0]),
        "right has entries that are nan or inf, 1 in all",
    ),
    "accumulation of a number": (lambda: plot_accumulation(5), "It got int"),
    "accumulation of nothing": (lambda: plot_accumulation([]), "It got list"),
    "accumulation of names": (lambda: plot_accumulation("weight"), "It got str"),
    "accumulation of constants": (lambda: plot_accumulation(POINT), "a leaf that requires grad"),
    "accumulation not run": (lambda: plot_accumulation(NET), "Put the loop inside"),
    "differences of a number": (lambda: plot_differences(3, 1.0), "It got int"),
    "differences without a point": (lambda: plot_differences(torch.sin), "It got NoneType"),
    "differences at integers": (lambda: plot_differences(torch.sin, torch.tensor(1)), "It got int64"),
    "differences at text": (lambda: plot_differences(torch.sin, "1"), "It got str"),
    "differences at nothing": (lambda: plot_differences(torch.sin, torch.ones(0)), "between 1 and 16"),
    "differences at much": (lambda: plot_differences(torch.sin, torch.ones(17)), "has 17 numbers"),
    "differences at nan": (lambda: plot_differences(torch.sin, math.nan), "where it is smooth"),
    "differences at a pole": (lambda: plot_differences(torch.sqrt, 0.0), "where it is smooth"),
    "differences constant": (lambda: plot_differences(lambda x: x.detach(), 1.0), "nothing to differentiate"),
    "differences raising": (lambda: plot_differences(torch.nn.Linear(1, 1), POINT[:1]), "float64 and with float32"),
    "saved of a function": (lambda: plot_saved(torch.sin, DATA), "It got"),
    "saved without input": (lambda: plot_saved(NET), "plot_saved(net, x)"),
    "saved of a tensor": (lambda: plot_saved(NET, DATA, DATA), "cannot be called"),
    "saved without graph": (lambda: plot_saved(NET, DATA, torch.no_grad()(plain)), "returned nothing with a graph"),
    "saved raising": (lambda: plot_saved(NET, DATA[:, :3]), "plot_saved() ran your function"),
    "saved of many": (lambda: plot_saved(NET, DATA, *[plain] * 7), "at most 6"),
    "memory without functions": (lambda: plot_memory(DATA), "Which function?"),
    "memory of a result": (lambda: plot_memory(DATA, plain(DATA)), "without brackets"),
    "memory raising": (lambda: plot_memory(DATA, lambda x: x.nowhere), "AttributeError"),
    "memory of nothing": (lambda: plot_memory(DATA, lambda x: None), "made no tensors"),
    "progress of nothing": (plot_progress, "No answer has been checked yet."),
}


def test_an_error_without_a_message_is_said_by_its_name() -> None:
    def unfinished(x: torch.Tensor) -> None:
        raise NotImplementedError

    made = [plot_saved(NET, DATA, unfinished), plot_memory(DATA, unfinished), plot_jacobian(unfinished, POINT)]
    for each in (*made, plot_differences(unfinished, 1.0)):
        assert str(each).endswith("it ended with NotImplementedError")


@pytest.mark.parametrize("kind", REFUSED)
def test_bad_input_gets_a_sentence(kind: str) -> None:
    make, sentence = REFUSED[kind]
    made = make()
    assert sentence in str(made)
    bundle = made._repr_mimebundle_()
    assert set(bundle) == {"text/html", "text/plain"}
    assert bundle["text/plain"] == str(made)
    SESSION.language = "ru"
    assert re.search("[а-я]", str(make()))


def test_a_function_that_raises_leaves_gradients_hooks_and_modes_as_they_were() -> None:
    net = torch.nn.Sequential(torch.nn.Linear(8, 1))
    net(DATA).sum().backward()
    gradient, engine = net[0].weight.grad, torch.autograd._engine_run_backward

    def raising(x: torch.Tensor) -> None:
        net(x).sum().backward()
        raise ValueError("on purpose")

    assert "on purpose" in str(plot_memory(DATA, raising))
    assert "on purpose" in str(plot_saved(net, DATA, raising))
    assert torch.autograd._engine_run_backward is engine
    assert torch.is_grad_enabled()
    assert not any(part._forward_hooks or part._forward_pre_hooks for part in net.modules())
    assert net[0].weight.grad is gradient


def test_inside_no_grad_and_transforms_nothing_is_raised() -> None:
    with torch.no_grad():
        assert plot_jacobian(torch.sin, POINT).matrix[0][0] == pytest.approx(math.cos(1.0))
        assert plot_memory(DATA, plain).courses[0].backwards
        assert not torch.is_grad_enabled()
    said = []

    def square(x: torch.Tensor) -> torch.Tensor:
        said.append(str(plot_jacobian(x.reshape(1, -1))))
        return (x * x).sum()

    torch.func.vmap(square)(torch.ones(3, 2))
    assert said


def test_what_is_given_as_a_name_cannot_become_markup_or_a_formula() -> None:
    def way(x: torch.Tensor) -> torch.Tensor:
        return NET(x)

    way.__name__ = "<b>$a_b$ & 名前</b>"
    svg = shown(plot_memory(DATA, way))[0]
    assert way.__name__ in written(svg)
    assert way.__name__ in str(plot_saved(NET, DATA, way))


# -- style ------------------------------------------------------------------------------------------------------------


def luminance(colour: Any) -> float:
    linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in to_rgb(colour)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: Any, other: Any) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_the_style_has_contrast_on_its_own_paper_for_every_page() -> None:
    with plot._styled():
        style = dict(matplotlib.rcParams)
    paper = style["figure.facecolor"]
    assert to_rgb(paper) == to_rgb(style["axes.facecolor"])
    for key in ("text.color", "axes.labelcolor", "axes.titlecolor", "xtick.labelcolor", "ytick.labelcolor"):
        assert contrast(style[key], paper) > 7, key
    for key in ("axes.edgecolor", "xtick.color"):
        assert contrast(style[key], paper) > 3, key
    cycle = list(style["axes.prop_cycle"])
    for line in cycle:
        assert contrast(line["color"], paper) > 3.5, line
    assert len({line["linestyle"] for line in cycle}) == len({line["marker"] for line in cycle}) == len(cycle) == 4


# Machado, Oliveira and Fernandes 2009, full severity, for linear RGB.
BLIND = {
    "none": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}


@pytest.mark.parametrize("kind", BLIND)
def test_colours_of_the_cycle_differ_for_every_eye(kind: str) -> None:
    with plot._styled():
        colours = [to_rgb(line["color"]) for line in matplotlib.rcParams["axes.prop_cycle"]]

    def lab(colour: Any) -> Any:
        linear = np.array([p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in colour])
        seen = np.clip(np.array(BLIND[kind]) @ linear, 0, 1)
        to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
        xyz = np.array(to_xyz) @ seen / [0.9505, 1, 1.089]
        f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
        return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])

    for one, other in itertools.combinations(colours, 2):
        assert np.linalg.norm(lab(one) - lab(other)) > 25, (one, other)


def test_the_learners_settings_neither_change_nor_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    made = plot_memory(DATA, plain)
    usual = shown(made)[0]
    with matplotlib.rc_context({"figure.facecolor": "#000000", "font.size": 30, "axes.grid": True}):
        before = dict(matplotlib.rcParams)
        assert shown(made)[0] == usual
        assert dict(matplotlib.rcParams) == before
    monkeypatch.setattr(plot, "STYLE", Path("/nowhere/autograd.mplstyle"))
    bare = shown(made)[0]
    assert bare != usual
    assert "peak" in " ".join(written(bare))


@pytest.mark.parametrize("id", WORDS)
def test_every_sentence_exists_in_both_languages(id: str) -> None:
    text = WORDS[id]
    assert text.en
    assert text.ru
    assert text.placeholders_agree()
    assert not any(stem in text.ru.lower() for stem in BANNED)


def test_commands_are_offered_and_load_matplotlib_only_when_used() -> None:
    commands = [name for name in autograder.__all__ if name.startswith("plot_")]
    assert len(commands) == 6
    assert all(callable(getattr(autograder, name)) for name in commands)
    code = "import sys, autograder; autograder.draw; sys.exit('matplotlib' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_graded_cell_with_a_plot_says_nothing_on_stderr() -> None:
    code = (
        "import torch, autograder, sys\n"
        "autograder.plot_jacobian(torch.eye(2))._repr_mimebundle_()\n"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=dict(os.environ), check=True)
    assert (ran.stdout, ran.stderr) == ("", "")
