"""Trials of hooks, one property after the other.

`make` makes a leaf, `attach` gives a value a hook, and `walk` makes a pass. So engines and walks have the same trials.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from autograder.checking.containment.caught import or_error
from autograder.checking.labels import Entries
from autograder.language import Text

from .engine_runs import Make, Walk

Hook = Callable[[Any], Any]
Attach = Callable[[Any, Hook], object]

HOOKS_RIGHT: list[object] = [True, "1, 1, 1", True, "2, 2", True, "2, 2", "1, 2", True, True]
OF_HOOKS = Entries(
    (
        Text("a hook gets a gradient of the right type", "хук получает градиент нужного типа"),
        Text(
            "calls of the hooks at the root `x.tanh() + x + x`, at the result `x = a.exp()` and at the leaf `a`",
            "вызовы хуков у корня `x.tanh() + x + x`, у результата `x = a.exp()` и у листа `a`",
        ),
        Text("a hook gets the whole gradient", "хук получает весь градиент"),
        Text("calls at result and leaf in two passes", "вызовы у результата и листа за два прохода"),
        Text("a hook gets the gradient of this pass alone", "хук получает градиент только этого прохода"),
        Text(
            "how many times the gradient arrives if a hook of the result, or of the leaf, doubles it",
            "во сколько раз больше градиент, если его удваивает хук результата или листа",
        ),
        Text("the order of two hooks", "порядок двух хуков"),
        Text("the second hook gets what the first returned", "второй хук получает то, что вернул первый"),
        Text("a hook that returns None changes nothing", "хук, который вернул None, ничего не меняет"),
    ),
    Text("trials", "проб"),
    apart=True,
)


def hook_trials(make: Make, kind: type, attach: Attach, walk: Walk, start: float) -> list[object]:
    """Return what the hooks of a leaf, a result and a root are called with and do, up to what is wrong.

    `kind` is the type of the gradients that hooks should get.

    Behind a wrong entry stands what is right: nothing else was tried.
    """
    trials = _Hooks(make, kind, attach, walk, torch.tensor(0.25 + start / 2, dtype=torch.float64))
    observed = (
        trials.kind,
        trials.calls,
        trials.whole,
        trials.calls_of_two_passes,
        trials.this_pass,
        trials.replaced,
        trials.order,
        trials.handed_on,
        trials.kept,
    )
    found: list[object] = []
    for observe, right in zip(observed, HOOKS_RIGHT):
        found.append(or_error(observe))
        if found[-1] != right:
            break
    return [*found, *HOOKS_RIGHT[len(found) :]]


class _Hooks:
    """Trials of a program that uses one result three times."""

    def __init__(self, make: Make, kind: type, attach: Attach, walk: Walk, data: Tensor) -> None:
        self._make, self._kind, self._attach, self._walk, self._data = make, kind, attach, walk, data
        x = data.exp()
        self._by_x = 3 - x.tanh() ** 2
        self._by_leaf = self._by_x * x

    def _built(self) -> tuple[Any, Any, Any]:
        leaf = self._make(self._data.clone())
        return self._over(leaf)

    def _over(self, leaf: Any) -> tuple[Any, Any, Any]:
        x = leaf.exp()
        return leaf, x, (x.tanh() + x) + x

    def _seen(self, value: Any) -> list[Tensor]:
        """Attach a hook, and return the list of the gradients that it will get."""
        seen: list[Tensor] = []
        self._attach(value, lambda gradient: seen.append(gradient.data.clone()))
        return seen

    def kind(self) -> bool:
        _, x, root = self._built()
        right: list[bool] = []
        self._attach(x, lambda gradient: right.append(isinstance(gradient, self._kind)))
        self._walk(root)
        return all(right)

    def calls(self) -> str:
        leaf, x, root = self._built()
        seen = [self._seen(each) for each in (root, x, leaf)]
        self._walk(root)
        return _counted(seen)

    def whole(self) -> bool:
        leaf, x, root = self._built()
        at_x, at_leaf = self._seen(x), self._seen(leaf)
        self._walk(root)
        return _near(at_x[0], self._by_x) and _near(at_leaf[0], self._by_leaf)

    def calls_of_two_passes(self) -> str:
        """Return the calls at a result in two passes over its graph, and at a leaf in passes over two graphs."""
        _, x, root = self._built()
        at_x = self._seen(x)
        self._walk(root, retain_graph=True)
        self._walk(root)
        leaf, _, root = self._built()
        at_leaf = self._seen(leaf)
        self._walk(root)
        self._walk(self._over(leaf)[2])
        return _counted([at_x, at_leaf])

    def this_pass(self) -> bool:
        leaf, x, root = self._built()
        at_x, at_leaf = self._seen(x), self._seen(leaf)
        self._walk(root, retain_graph=True)
        self._walk(root)
        return all(_near(each, self._by_x) for each in at_x) and all(_near(each, self._by_leaf) for each in at_leaf)

    def replaced(self) -> str:
        return ", ".join(self._doubled(at_leaf) for at_leaf in (False, True))

    def _doubled(self, at_leaf: bool) -> str:
        leaf, x, root = self._built()
        self._attach(leaf if at_leaf else x, lambda gradient: gradient + gradient)
        self._walk(root)
        return f"{(leaf.grad.data / self._by_leaf).item():.4g}"

    def order(self) -> str:
        _, x, root = self._built()
        called: list[str] = []
        self._attach(x, lambda gradient: called.append("1"))
        self._attach(x, lambda gradient: called.append("2"))
        self._walk(root)
        return ", ".join(called)

    def handed_on(self) -> bool:
        _, x, root = self._built()
        self._attach(x, lambda gradient: gradient + gradient)
        at_x = self._seen(x)
        self._walk(root)
        return _near(at_x[0], 2 * self._by_x)

    def kept(self) -> bool:
        leaf, x, root = self._built()
        self._attach(x, lambda gradient: gradient + gradient)
        self._attach(x, lambda gradient: None)
        self._walk(root)
        return _near(leaf.grad, 2 * self._by_leaf)


def _counted(seen: list[list[Any]]) -> str:
    return ", ".join(str(len(each)) for each in seen)


def _near(gradient: Any, wanted: Tensor) -> bool:
    return torch.allclose(gradient.data.double(), wanted)
