"""Observed values: plain form and encoding as JSON.

An observation is plain data: None, bool, int, float, str, tensor, `AtMost`, and lists and dicts of these. `canonical`
replaces any other value by the name of its type, and nothing is ever unpickled. An observation can therefore be read
safely from a process that is not trusted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, SupportsFloat

import torch

from .containment.caught import Caught

RTOL = 1e-6
_MOST_ITEMS, _MOST_DEPTH, _MOST_TEXT = 10_000, 8, 20_000
_MOST_BITS = 1023  # no float is larger, and Python refuses to write an integer of more than 4300 digits
_LONGEST_NAME = 60  # characters of a type's name, which an answer may choose
_MOST_NUMBERS = 1_000_000  # of a sparse tensor that is made dense
_FEW_ITEMS, _MOST_SHOWN = 3, 80  # of a list that is shown whole: items, characters
# Decimal digits that tell all numbers of a dtype apart. Python would write 17.
_DIGITS = {torch.float32: 9, torch.complex64: 9, torch.float16: 5, torch.bfloat16: 4}


@dataclass(frozen=True)
class AtMost:
    """A count or an error with a limit: `used` of `limit`.

    The limit is computed from the sizes of the case, not from a solution. `of` is the result of a run of its own in
    which `used` was counted, as plain data. It must be right, too: an answer may do less work, but not none.
    """

    limit: float
    used: float
    of: Any = None

    @property
    def kept(self) -> bool:
        return self.used <= self.limit


@dataclass(frozen=True)
class Other:
    """A placeholder for a value that is no plain data.

    `kind` is the name of the value's type, for example of a module or a generator.
    """

    kind: str


WITHOUT_DATA = Other("tensor without data")


def canonical(value: object, _depth: int = 0, *, of_tensor: Callable[[torch.Tensor], Any] | None = None) -> Any:
    """Return `value` as plain data, with `Other` in place of anything else.

    Never raises and never runs the value's own code. Tensors are detached, copied and moved to the CPU, and subclasses
    become plain `torch.Tensor`. `of_tensor` returns what stands for a tensor in place of such a copy.
    """
    if type(value) is int and value.bit_length() > _MOST_BITS:
        return Other(f"|int| ≥ 2**{_MOST_BITS}")
    if value is None or type(value) in (bool, int, str):
        return value[:_MOST_TEXT] if isinstance(value, str) else value
    if isinstance(value, float):
        return float.__float__(value)
    if isinstance(value, torch.Tensor):
        return (of_tensor or _canonical_tensor)(value)
    if type(value) is AtMost:
        return replace(value, of=canonical(value.of, _depth + 1, of_tensor=of_tensor))
    if _depth < _MOST_DEPTH and type(value) in (list, tuple) and len(value) <= _MOST_ITEMS:  # type: ignore[arg-type]
        return [canonical(item, _depth + 1, of_tensor=of_tensor) for item in value]  # type: ignore[attr-defined]
    if _depth < _MOST_DEPTH and type(value) is dict and len(value) <= _MOST_ITEMS:
        return {_key(key): canonical(item, _depth + 1, of_tensor=of_tensor) for key, item in value.items()}
    if type(value) is Other:
        return value
    if type(value) is Caught:
        return value.text
    return Other("..." if value is Ellipsis else type(value).__name__[:_LONGEST_NAME])


def _key(key: object) -> str:
    plain = canonical(key) if type(key) is int else key
    return plain.kind if isinstance(plain, Other) else str(plain)[:200]


def _canonical_tensor(tensor: torch.Tensor) -> torch.Tensor | Other:
    with torch._C.DisableTorchFunctionSubclass(), torch.no_grad():
        try:
            plain = _without_graph(tensor)
            if plain.device.type == "meta":
                return Other("tensor on meta")
            if plain.layout != torch.strided:
                plain = plain.to_dense()
            return plain.to("cpu", copy=True).resolve_conj().resolve_neg()
        except RuntimeError:
            return WITHOUT_DATA


def _without_graph(tensor: torch.Tensor) -> torch.Tensor:
    """Return `tensor` without its graph, as a plain `torch.Tensor`.

    Raises RuntimeError for a sparse tensor of a subclass, and for one that is too large to be made dense.
    """
    try:
        return tensor.as_subclass(torch.Tensor).detach()
    except RuntimeError:  # a sparse tensor has no storage to share
        if type(tensor) not in (torch.Tensor, torch.nn.Parameter) or torch.Tensor.numel(tensor) > _MOST_NUMBERS:
            raise
        return torch.Tensor.detach(tensor)


def number(value: object) -> object:
    """Return a one-element tensor, a NumPy number or a fraction as a Python number.

    Other values are returned unchanged.
    """
    if isinstance(value, torch.Tensor):
        return value.detach().item() if value.numel() == 1 and not value.is_meta else value
    if isinstance(value, SupportsFloat) and not isinstance(value, (bool, int)):
        with suppress(TypeError, ValueError):  # an array of several numbers
            return float(value)
    return value


def entries(table: dict[str, object], former: Container[str] = ()) -> dict[str, object]:
    """Return a table of predictions with entries in a uniform form.

    A one-element tensor becomes a number, an exception the name of its class, a `torch.Size` a tuple. Entries named in
    `former` are left out: a notebook released before may ask for them.
    """

    def plain(value: object) -> object:
        value = number(value)
        if isinstance(value, BaseException):
            return type(value).__name__
        if isinstance(value, type):
            return value.__name__
        return tuple(value) if isinstance(value, torch.Size) else value

    return {name: plain(value) for name, value in table.items() if name not in former}


def relative_error(truth: torch.Tensor, got: object) -> float:
    """Return the largest error of `got`, divided by the largest entry of `truth`.

    The error is infinite if `got` is not a tensor of the same shape.
    """
    if not isinstance(got, torch.Tensor) or got.shape != truth.shape:
        return math.inf
    truth, got = truth.detach().cpu(), got.detach().cpu()  # the answer may have left the device of its inputs
    error, largest = (got - truth).abs().max().item(), truth.abs().max().item()
    return error / largest if largest else math.inf if error else 0.0


def limited_error(limit: float, error: float) -> AtMost:
    """Return a relative error with a limit. An error that is infinite or NaN counts as 1."""
    return AtMost(limit=limit, used=error if error < 1 else 1.0)


def rounded(number: float) -> float | str:
    """Return a count as it is, and an error as text with two digits, such as `1.5e-08`."""
    return f"{number:.2g}" if isinstance(number, float) else number


def describe(value: Any) -> str:
    """Return a short text for a value, the same in English and Russian.

    Tensors show shape and dtype, numbers six digits. A list or dict shows at most three items, and a longer one its
    length, too: `[1, 2, 3, …] × 7`.
    """
    if isinstance(value, torch.Tensor):
        if value.dim() == 0:
            dtype = "" if value.dtype == torch.float32 else f" {str(value.dtype).removeprefix('torch.')}"
            return f"tensor({describe(value.item())}){dtype}"
        return f"tensor {tuple(value.shape)} {str(value.dtype).removeprefix('torch.')}"
    if isinstance(value, bool) or value is None:
        return str(value)
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, str):
        return repr(value if len(value) <= 60 else value[:59] + "…")
    if isinstance(value, Other):
        return value.kind
    if isinstance(value, AtMost):
        return f"{rounded(value.used)} (≤ {rounded(value.limit)})"
    if isinstance(value, (list, dict)):
        return _describe_items(value, describe)
    return str(value)[:60]


def prediction(value: Any) -> str:
    """Return a short text for an entry of a table of predictions, as Python writes it: `(True, False)`."""
    if isinstance(value, list):
        inside = ", ".join(map(prediction, value)) + ("," if len(value) == 1 else "")
        return f"({inside})" if len(inside) <= _MOST_SHOWN else describe(value)
    return describe(value)


def outline(value: Any) -> str:
    """Return a short text for the form of a value, without its numbers and texts: `[float, float, None]`."""
    if isinstance(value, (list, dict)):
        return _describe_items(value, outline)
    if isinstance(value, torch.Tensor) and value.dim() == 0:
        return describe(value[None])
    return type(value).__name__ if type(value) in (int, float, str) else describe(value)


def _describe_items(value: list[Any] | dict[str, Any], say: Callable[[Any], str]) -> str:
    """Return a text for a list or dict in which `say` makes the texts of its first items."""
    texts = [f"{key!r}: {say(item)}" for key, item in value.items()] if isinstance(value, dict) else map(say, value)
    shown: list[str] = []
    for text in islice(texts, _FEW_ITEMS):
        if len(", ".join([*shown, text])) > _MOST_SHOWN:
            break
        shown.append(text)
    left_out = len(value) > len(shown)
    inside = ", ".join([*shown, "…"] if left_out else shown)
    return (f"{{{inside}}}" if isinstance(value, dict) else f"[{inside}]") + (f" × {len(value)}" if left_out else "")


def encode(value: Any) -> Any:
    """Return plain data from `canonical` as JSON data, without loss of precision.

    A tensor becomes a flat list of numbers with its shape and its dtype.
    """
    if isinstance(value, torch.Tensor):
        flat = torch.view_as_real(value).flatten() if value.is_complex() else value.flatten()
        digits = _DIGITS.get(value.dtype)
        numbers = [encode(float(f"{n:.{digits}g}") if digits else n) for n in flat.tolist()]
        return {"tensor": numbers, "shape": list(value.shape), "dtype": str(value.dtype).removeprefix("torch.")}
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)}
    if isinstance(value, AtMost):
        return {"at_most": value.limit, "used": value.used} | ({} if value.of is None else {"of": encode(value.of)})
    if isinstance(value, Other):
        return {"other": value.kind}
    if isinstance(value, list):
        return [encode(item) for item in value]
    if isinstance(value, dict):
        return {"dict": {key: encode(item) for key, item in value.items()}}
    return value


def decode(data: Any, pool: Sequence[Any] = ()) -> Any:
    """Return the plain data that `encode` encoded.

    `pool` holds the decoded values to which data with the key "@" refers by number.
    Raises ValueError if the data is not in the form that `encode` writes.
    """
    if data is None or isinstance(data, (bool, int, float, str)):
        return data
    if isinstance(data, list):
        return [decode(item, pool) for item in data]
    match data:
        case {"@": int(number)} if 0 <= number < len(pool):
            return pool[number]
        case {"names": names, "items": list(items)}:
            return {str(name): item for name, item in zip(decode(names, pool), decode(items, pool), strict=True)}
        case {"tensor": list(numbers), "shape": list(shape), "dtype": str(name)}:
            dtype = getattr(torch, name, None)
            if not isinstance(dtype, torch.dtype):
                raise ValueError(f"no torch dtype is called {name!r}")
            flat = [decode(number) for number in numbers]
            if dtype.is_complex:
                real = torch.float32 if dtype == torch.complex64 else torch.float64
                return torch.view_as_complex(torch.tensor(flat, dtype=real, device="cpu").reshape(*shape, 2))
            return torch.tensor(flat, dtype=dtype, device="cpu").reshape(shape)
        case {"float": "nan" | "inf" | "-inf" as text}:
            return float(text)
        case {"at_most": int() | float() as limit, "used": int() | float() as used}:
            return AtMost(limit, used, decode(data.get("of"), pool))
        case {"other": str(kind)}:
            return Other(kind[:_LONGEST_NAME])
        case {"dict": dict(items)}:
            return {str(key): decode(item, pool) for key, item in items.items()}
    raise ValueError(f"not an encoded observation: {str(data)[:80]}")
