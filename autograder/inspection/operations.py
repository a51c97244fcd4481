"""Operations of a forward pass: cuts of the graph, edits, means."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils.weak import WeakTensorKeyDictionary

from ..measure import tensors
from .places import learners_place
from .seen import Cut, Edit, How, Mean, Seen

# Operations that cost nothing and tell nothing: most calls are of these.
_IDLE = {
    "size",
    "dim",
    "numel",
    "stride",
    "is_floating_point",
    "is_complex",
    "__len__",
    "requires_grad_",
    "__set__",
    "_set_grad_enabled",
}
_VIEWS = {"data", "T", "mT", "H", "mH", "real", "imag"}  # attributes that are computed from a tensor
_OUT_OF_TORCH = {"item", "tolist", "numpy", "__float__", "__int__", "__array__"}
_NORMS = {
    "norm",
    "linalg_vector_norm",
    "linalg_norm",
    "_foreach_norm",
    "clamp_",
    "_foreach_clamp_min_",
    "_foreach_clamp_max_",
}
_MEAN_LOSSES = {
    *("mse_loss", "cross_entropy", "nll_loss", "binary_cross_entropy", "binary_cross_entropy_with_logits"),
    *("l1_loss", "smooth_l1_loss", "huber_loss", "kl_div"),
}
_NO_CLASS = -100  # torch's default of `ignore_index`


class OperationWatch(TorchFunctionMode):
    """A mode that notes what each operation does to the graph.

    It writes into a `Seen`, and changes no result. `names` maps the id of a parameter to its name. `scaled` holds ids
    of gradients in which a loss scale is. `is_idle` is true during a backward pass and a step of an optimizer.
    """

    def __init__(self, seen: Seen) -> None:
        super().__init__()
        self.names: dict[int, str] = {}
        self.scaled: set[int] = set()
        self.is_idle = False
        self._hooks: list[Any] = []  # handles of hooks on mean losses
        self.begin_step(seen)

    def begin_step(self, seen: Seen) -> None:
        """Note in `seen` from now on."""
        self.take_hooks_off()
        self.seen = seen
        self.zeroed: set[int] = set()  # ids of tensors that were set to zero
        self._cuts_behind: Any = WeakTensorKeyDictionary()
        self._means_behind: Any = WeakTensorKeyDictionary()

    def take_hooks_off(self) -> None:
        """Remove the hooks that the watch has registered on losses."""
        for hook in self._hooks:
            hook.remove()
        self._hooks = []

    def behind(self, losses: Iterable[torch.Tensor]) -> tuple[frozenset[Cut], tuple[Mean, ...]]:
        """Return the cuts and the means from which losses were computed."""
        cuts, means = frozenset[Cut](), list[Mean]()
        for each in losses:
            cuts |= self._cuts_behind.get(each, frozenset())
            means += self._means_behind.get(each, ())
        return cuts, tuple(dict.fromkeys(means))

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        if self.is_idle:
            return func(*args, **(kwargs or {}))
        kwargs = kwargs or {}
        name = _name_of(func)
        if name in _IDLE:
            return func(*args, **kwargs)
        operands = list[torch.Tensor]()
        with suppress(Exception):
            operands = tensors((args, kwargs))
        maker = _maker(operands[0]) if operands and _is_edit(name) else ""
        found = func(*args, **kwargs)
        if operands:
            with suppress(Exception):  # a tensor of another kind may refuse what only we ask of it
                self._note(name, operands, found, maker, args, kwargs)
        return found

    def _note(
        self,
        name: str,
        operands: list[torch.Tensor],
        found: Any,
        maker: str,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
    ) -> None:
        if self.scaled and name in _NORMS and any(id(each) in self.scaled for each in operands):
            self.seen.scaled_reads.append(learners_place())
        if used := [self.names[id(each)] for each in operands if id(each) in self.names]:
            self.seen.used |= dict.fromkeys(used, learners_place())
        if name in ("zero_", "_foreach_zero_"):
            self.zeroed |= {id(each) for each in operands}
        results = tensors(found) or operands[: name == "__setitem__"]
        with_graph = [each for each in operands if each.requires_grad]
        if _is_edit(name) and not operands[0].is_inference():
            first = operands[0]
            self.seen.edits.append(Edit(name, tuple(first.shape), first._version, maker, learners_place()))
        cuts = frozenset().union(*(self._cuts_behind.get(each, ()) for each in operands))
        if name in _OUT_OF_TORCH:
            self.seen.loose += [cut for cut in cuts if cut.how in (How.DETACH, How.DATA)]
        if with_graph and not any(each.requires_grad for each in results) and (how := _how(name, results)):
            cut = Cut(how, learners_place(), tuple(each if each.is_leaf else each.grad_fn for each in with_graph))
            cuts |= {cut}
            if not results:
                self.seen.loose.append(cut)
        means = [mean for each in operands for mean in self._means_behind.get(each, ())]
        if results and results[0].requires_grad and (count := _mean_over(name, args, kwargs)):
            means = [self._watch_mean(results[0], count)]
        for each in results:
            if cuts:
                self._cuts_behind[each] = cuts
            if means and each.requires_grad:
                self._means_behind[each] = tuple(dict.fromkeys(means))

    def _watch_mean(self, loss: torch.Tensor, count: int) -> Mean:
        """Return a mean that will know the gradient that arrives at it."""
        mean = Mean(count)

        def arrived(gradient: torch.Tensor) -> None:
            if gradient.numel() == 1 and not gradient.is_meta:
                mean.factor = (mean.factor or 0.0) + float(gradient)

        self._hooks.append(loss.register_hook(arrived))
        return mean


def _name_of(func: Any) -> str:
    """Return the name of an operation. An attribute such as `data` has its own."""
    name = str(getattr(func, "__name__", ""))
    if name != "__get__":
        return name
    attribute = str(getattr(getattr(func, "__self__", None), "__name__", ""))
    return attribute if attribute in _VIEWS else "size"


def _maker(tensor: torch.Tensor) -> str:
    return type(tensor.grad_fn).__name__ if tensor.grad_fn is not None else ""


def _is_edit(name: str) -> bool:
    if name == "__setitem__":
        return True
    return name.endswith("_") and not name.endswith("__") and name not in ("requires_grad_", "detach_", "retain_grad_")


def _how(name: str, results: list[torch.Tensor]) -> How | None:
    """Return how an operation has lost the graph, or None if it only looks at a tensor."""
    if name in ("detach", "detach_"):
        return How.DETACH
    if name == "data":
        return How.DATA
    if name in _OUT_OF_TORCH:
        return How.NUMBER
    if not results:
        return None
    if results[0].is_floating_point() or results[0].is_complex():
        return None if torch.is_grad_enabled() else How.NO_GRAD
    return How.INDEX


def _mean_over(name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> int:
    """Return over how many samples a loss is a mean, or 0 if it is none."""
    if name in _MEAN_LOSSES:
        if kwargs.get("reduction", "mean") not in ("mean", "batchmean") or _tensor_at(args, 0) is None:
            return 0
        target = _tensor_at(args, 1)
        if name in ("cross_entropy", "nll_loss") and target is not None and not target.is_floating_point():
            return int((target != kwargs.get("ignore_index", _NO_CLASS)).sum())
        return int(args[0].shape[0]) if args[0].dim() else 0
    if name == "mean" and len(args) == 1 and not kwargs and _tensor_at(args, 0) is not None and args[0].dim():
        return int(args[0].shape[0])
    return 0


def _tensor_at(args: tuple[Any, ...], place: int) -> torch.Tensor | None:
    found = args[place] if len(args) > place else None
    return found if isinstance(found, torch.Tensor) else None
