"""Right and wrong programs for TD(λ).

A program is called as `td(w, steps, gamma, lam, alpha)`. It changes `w`, a table of values, in place. The states of the
steps are indices of this table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import torch
from torch import Tensor

from autograder.checking.inputs import nameless

Step = tuple[Any, float, Any, bool, bool]  # state, reward, next state, terminated, truncated


def learn(
    parameters: Sequence[Tensor],
    value: Callable[[Any], Tensor],
    steps: Sequence[Step],
    gamma: float,
    lam: float,
    alpha: float,
    *,
    resets: Literal["terminated", "truncated", "either", "early", "never", "always"] = "either",
    ends: Literal["terminated", "never", "either"],
    through_next: bool = False,
    factor: float = 1.0,
    decay: float | None = None,
    stale: bool = False,
    leaks: bool = False,
    carries: bool = False,
    late: Literal["", "value", "both"] = "",
) -> list[float]:
    """Run TD(λ) with one fault or none. Changes `parameters` in place, and returns the TD errors.

    `value(state)` is the value of a state. `resets` says when traces are cleared; "early" is before the last step of an
    episode. `ends` says after which steps the next value is 0. If `through_next`, the gradient is that of the TD error.
    `factor` multiplies each step, `decay` replaces gamma * lam. If `stale`, weights move along the trace of the step
    before. If `leaks`, the last update is added to each gradient. If `carries`, the value of a state is that which the
    step before computed. `late` says what of the returned errors is computed with the new weights: nothing, the value
    of the state, or both values.
    """
    traces = [torch.zeros_like(p) for p in parameters]
    left = [torch.zeros_like(p) for p in parameters]
    decay = gamma * lam if decay is None else decay
    errors = []
    carried: float | None = None
    for state, reward, next_state, terminated, truncated in steps:
        over = {"terminated": terminated, "never": False, "either": terminated or truncated}[ends]
        if resets == "always" or (resets == "early" and (terminated or truncated)):
            traces = [torch.zeros_like(p) for p in parameters]
        v = value(state)
        v_next = 0.0 if over else value(next_state)
        root = v - gamma * v_next if through_next and not over else v
        gradients = torch.autograd.grad(root, parameters)
        with torch.no_grad():
            delta = float(reward + gamma * v_next - (v if carried is None else carried))
            moved = [trace.clone() for trace in traces] if stale else traces
            for trace, g, rest in zip(traces, gradients, left):
                trace.mul_(decay).add_(g + rest if leaks else g)
            for p, trace in zip(parameters, moved):
                p += factor * alpha * delta * trace
            left = [-delta * trace for trace in traces]
            carried = float(v_next) if carries and not (terminated or truncated) else None
            if late:
                v_next = value(next_state) if late == "both" and not over else v_next
                delta = float(reward + gamma * v_next - value(state))
            if (terminated and resets in ("terminated", "either")) or (truncated and resets in ("truncated", "either")):
                for trace in traces:
                    trace.zero_()
        errors.append(delta)
    return errors


def _run(w: Tensor, steps: list[Step], gamma: float, lam: float, alpha: float, **fault: Any) -> None:
    learn([w], lambda state: w[state], steps, gamma, lam, alpha, **{"ends": "terminated", **fault})


def _in_place(w: Tensor, steps: list[Step], gamma: float, lam: float, alpha: float) -> None:
    _run(w, steps, gamma, lam, alpha)


def _out_of_place(w: Tensor, steps: list[Step], gamma: float, lam: float, alpha: float) -> None:
    trace: Any = 0.0
    for state, reward, next_state, terminated, truncated in steps:
        v = w[state]
        target = reward if terminated else reward + gamma * w[next_state].item()
        w.grad = None
        v.backward()
        trace = lam * (gamma * trace) + w.grad  # stays: a right program may leave something there
        w.data = w.data + alpha * target * trace - alpha * v.item() * trace
        if terminated or truncated:
            trace = 0.0


def _by_hand(w: Tensor, steps: list[Step], gamma: float, lam: float, alpha: float) -> list[float]:
    traces: dict[int, float] = {}
    errors = []
    with torch.no_grad():
        for state, reward, next_state, terminated, truncated in steps:
            delta = reward - w[state].item() + (0.0 if terminated else w[next_state].item() * gamma)
            traces = {each: trace * gamma * lam for each, trace in traces.items()}
            errors.append(delta)
            traces[state] = traces.get(state, 0.0) + 1.0
            for each, trace in traces.items():
                w[each] += delta * alpha * trace
            if terminated or truncated:
                traces = {}
    return errors


def _by_hand_without_result(w: Tensor, steps: list[Step], gamma: float, lam: float, alpha: float) -> None:
    _by_hand(w, steps, gamma, lam, alpha)  # a test that tells these two apart judges the result


def _wrong_sign(w: Tensor, steps: list[Step], gamma: float, lam: float, alpha: float) -> None:
    _run(w, steps, gamma, lam, alpha, factor=-1.0)


def _wrong_leaks(w: Tensor, steps: list[Step], gamma: float, lam: float, alpha: float) -> None:
    _run(w, steps, gamma, lam, alpha, leaks=True)


def _wrong_no_trace(w: Tensor, steps: list[Step], gamma: float, lam: float, alpha: float) -> None:
    _run(w, steps, gamma, lam, alpha, resets="always")


def _wrong_decay(w: Tensor, steps: list[Step], gamma: float, lam: float, alpha: float) -> None:
    _run(w, steps, gamma, lam, alpha, decay=lam)


def _wrong_no_reset(w: Tensor, steps: list[Step], gamma: float, lam: float, alpha: float) -> None:
    _run(w, steps, gamma, lam, alpha, resets="never")


def _wrong_end(w: Tensor, steps: list[Step], gamma: float, lam: float, alpha: float) -> None:
    _run(w, steps, gamma, lam, alpha, ends="never")


def _wrong_truncation(w: Tensor, steps: list[Step], gamma: float, lam: float, alpha: float) -> None:
    _run(w, steps, gamma, lam, alpha, ends="either")


def _wrong_both_sides(w: Tensor, steps: list[Step], gamma: float, lam: float, alpha: float) -> None:
    _run(w, steps, gamma, lam, alpha, through_next=True)


RIGHT = tuple(nameless(program, "td") for program in (_in_place, _out_of_place, _by_hand, _by_hand_without_result))
WRONG = {
    "catches_sign": nameless(_wrong_sign, "td"),
    "catches_leak": nameless(_wrong_leaks, "td"),
    "catches_no_trace": nameless(_wrong_no_trace, "td"),
    "catches_decay": nameless(_wrong_decay, "td"),
    "catches_no_reset": nameless(_wrong_no_reset, "td"),
    "catches_end": nameless(_wrong_end, "td"),
    "catches_truncation": nameless(_wrong_truncation, "td"),
    "catches_both_sides": nameless(_wrong_both_sides, "td"),
}
