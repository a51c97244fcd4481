"""Aspects that cannot do their work, such as those nobody gets wrong.

An aspect compares an answer's value with the solution's. Whether that value shows anything is for the gate to see.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..checking.exercise import Exercise
from ..checking.expected import Expected
from ..checking.judge import judge
from ..checking.values import WITHOUT_DATA, AtMost
from ..checking.verdict import AspectState
from ..measure import leaves


def aspect_problems(exercise: Exercise, key: Expected) -> Iterator[str]:
    """Yield a complaint for each aspect that cannot do its work. `key` is what is expected on the public seed."""
    yield from _unnamed_limits(exercise, key)
    yield from _said_truths(exercise, key)
    yield from _worthless_aspects(exercise)
    yield from _unread_tensors(exercise, key)
    yield from _false_aspects(exercise, key)
    yield from _unbroken_aspects(exercise, key)


def _unnamed_limits(exercise: Exercise, key: Expected) -> Iterator[str]:
    for one in exercise.aspects:
        limited = any(isinstance(run.values.get(one.name), AtMost) for run in key.solution)
        if limited and one.measured is None:
            yield f"aspect {one.name} has a limit: say what is counted with `measured=Text(...)`"


def _said_truths(exercise: Exercise, key: Expected) -> Iterator[str]:
    """Yield a complaint for each aspect whose counted run has a truth value as its result."""
    for one in exercise.aspects:
        values = [run.values.get(one.name) for run in key.solution]
        if any(isinstance(each, bool) for value in values if isinstance(value, AtMost) for each in leaves(value.of)):
            yield f"the counted run of aspect {one.name} tells whether it was right: observe its values in `of`"


def _worthless_aspects(exercise: Exercise) -> Iterator[str]:
    """Yield a complaint for each aspect that may be wrong in an answer with all points."""
    needed = {name for each in exercise.aspects if each.points for name in each.after}
    for one in exercise.aspects:
        if not one.points and one.name not in needed:
            yield f"aspect {one.name} has no points: name it in `after` of an aspect with points, or give it some"


def _unread_tensors(exercise: Exercise, key: Expected) -> Iterator[str]:
    for one in exercise.aspects:
        if any(repr(WITHOUT_DATA) in repr(run.values.get(one.name)) for run in key.solution):
            yield f"aspect {one.name} has a tensor that cannot be read: its numbers would not be compared"


def _false_aspects(exercise: Exercise, key: Expected) -> Iterator[str]:
    """Yield a complaint for each aspect that is False for the solution: whoever is as wrong gets its points."""
    for one in exercise.aspects:
        if any(run.values.get(one.name) is False for run in key.solution):
            yield (
                f"aspect {one.name} is False for the solution: answers get its points for being wrong. Return True "
                'where its sentence holds, or say what is observed, as in {"requires_grad": False}'
            )


def _unbroken_aspects(exercise: Exercise, key: Expected) -> Iterator[str]:
    """Yield a complaint for each aspect that no mistake gets wrong while those that it waits for are right.

    The given code of an exercise counts as a mistake. The aspects in `UNBROKEN` are left out. One of them that a
    mistake gets wrong is a complaint, too.
    """
    wrong = [*key.mistakes.values(), *([] if key.given is None else [key.given])]
    verdicts = [judge(exercise, runs, key, lambda: "") for runs in wrong]
    broken = {each.name for one in verdicts for each in one.aspects if each.state is AspectState.WRONG}
    known = UNBROKEN.get(f"{exercise.lesson}.{exercise.name}", ())
    for one in exercise.aspects:
        if one.name not in broken and one.name not in known:
            yield (
                f"no mistake gets aspect {one.name} wrong while those that it waits for are right: write one, or leave "
                "the aspect out"
            )
        if one.name in broken and one.name in known:
            yield f"a mistake gets aspect {one.name} wrong: strike it from `UNBROKEN`"


# Aspects that no mistake of the course gets wrong yet.
UNBROKEN = {
    "capstones.fix_checkpoint": ("flags",),
    "capstones.own_engine": ("second",),
    "capstones.train_windows": ("frozen",),
    "compiled_code.is_right_operator": ("catches_mutation",),
    "custom_functions.exp_function": ("grad_output_after",),
    "custom_functions.fix_gray": ("grad_output_after",),
    "engine.recompute": ("value",),
    "gradient_accumulation.accumulate_uneven": ("weight",),
    "gradient_hooks.step_in_backward": ("cleared",),
    "higher_order.has_second_derivative": ("catches_fused",),
    "jacobian_products.numerical_jacobian": ("x",),
    "memory_budget.stay_silent": ("same result",),
    "saved_tensors.hide_saved": ("peak",),
    "transforms.distance_forward": ("plain",),
    "transforms.fix_rule": ("plain",),
}
