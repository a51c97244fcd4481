"""Stand-ins for modules that only decorate a notebook, such as progress bars."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

# Progress bars, records of experiments, plots, and summaries of models. The grader's machine need not have them.
_DECORATION = re.compile(
    "colorama|comet_ml|fastprogress|ipywidgets|livelossplot|mlflow|neptune|rich|seaborn|tensorboard|tensorboardX|torchinfo"
    "|torchsummary|torchviz|tqdm|wandb"
)
_NEEDS = {"torch.utils.tensorboard": "tensorboard"}  # a part of torch, and the package without which it fails


class Nothing:
    """An object that does nothing, whatever is called on it.

    Iterating over it yields the items of `over`, as a progress bar does.
    """

    def __init__(self, over: object = ()) -> None:
        self._over = over

    def __call__(self, over: object = (), *rest: object, **named: object) -> Nothing:
        return Nothing(over)

    def __getattr__(self, name: str) -> Nothing:
        if name.startswith("__"):
            raise AttributeError(name)
        return Nothing()

    def __iter__(self) -> Iterator[Any]:
        return iter(self._over if hasattr(self._over, "__iter__") else ())

    def __len__(self) -> int:
        return len(self._over) if hasattr(self._over, "__len__") else 0

    def __enter__(self) -> Nothing:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def __getitem__(self, key: object) -> Nothing:
        return Nothing()

    def __setitem__(self, key: object, value: object) -> None:
        pass


class _Module(ModuleType):
    """A module whose names do nothing."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _RANGE if name in ("trange", "tnrange") else Nothing()


class _Range(Nothing):
    """A stand-in for `tqdm.trange`."""

    def __call__(self, over: Any = (), *rest: Any, **named: object) -> Nothing:
        return Nothing(range(over, *rest))


_RANGE = _Range()


class StandIns(MetaPathFinder, Loader):
    """A finder of stand-ins for the decorating modules that are not installed.

    `used` lists the packages for which a stand-in was imported.
    """

    def __init__(self) -> None:
        self.used: list[str] = []

    def find_spec(self, name: str, path: Sequence[str] | None, target: object = None) -> ModuleSpec | None:
        needs = _NEEDS.get(name) or name.partition(".")[0]
        if not _DECORATION.fullmatch(needs) or PathFinder.find_spec(needs):
            return None
        if needs not in self.used:
            self.used.append(needs)
        return ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Module(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        pass
