"""Numbers in plots: those of torch, and nothing is different afterwards."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.utils.checkpoint import checkpoint

from autograder import exercises, plot_accumulation, plot_differences, plot_jacobian
from autograder.measure import counting_backward_runs
from autograder.pictures.plots import base as plot
from support.pictures import shown
from support.plots import LEFT, J, loop, progressed, written


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
    assert leaf.mistakes == ((failed.name, next(iter(exercises.misconceptions_of(failed)))),)
    assert first.earned == first.maximum
    assert made.others == len(exercises.lessons()) - 2
    text = str(made)
    assert f"leaf_tensors: {passed.points:g} of {leaf.maximum:g} points, 1 of {leaf.count} exercises" in text
    assert exercises.misconceptions_of(failed)[leaf.mistakes[0][1]].says.en in text
    assert f"{passed.points:g} / {leaf.maximum:g}" in written(shown(made)[0])


def test_a_jacobian_says_what_it_is_and_speaks_of_products_only_where_it_has_some() -> None:
    for made, title in (
        (plot_jacobian(J), "The Jacobian, J of shape (4, 6)"),
        (plot_jacobian(J, left=LEFT), "The Jacobian and its products, J of shape (4, 6)"),
    ):
        assert str(made).startswith(f"{title}\n")
        assert title in written(shown(made)[0])
