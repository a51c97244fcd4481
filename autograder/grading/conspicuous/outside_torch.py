"""Ways out of torch in the code behind an answer.

Some exercises count memory, and see torch's memory alone. NumPy's arrays, files and buffers are in no count of bytes.
Most answers need none of them, and those that do are shown to a person.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from ...checking.exercise import Exercise
from ...checking.labels import BYTES_IN_FILES, COUNTED_IN_TORCH
from .code_reader import ConspicuousPlace, Kind, inner_codes
from .ordinary import words
from .steps import Do, steps_of

_LEAVES = words(
    """__array__ __dlpack__ from_dlpack from_file from_numpy frombuffer numpy share_memory_ storage tobytes tolist
    to_dlpack _to_dlpack typed_storage untyped_storage DoubleStorage FloatStorage TypedStorage UntypedStorage"""
)  # methods of tensors, and functions of torch
_OF_STORAGE = words("_cdata data_ptr device element_size nbytes size")  # attributes that are no entries
_BUFFERS = words("bytearray bytes memoryview open")
# Modules of whose objects no answer keeps a tensor's entries in bulk.
_KEEP_NONE = words(
    """__future__ abc autograder builtins collections contextlib copy dataclasses enum functools gc inspect itertools
    logging math matplotlib numbers operator random statistics time torch tqdm types typing typing_extensions warnings
    weakref"""
)
_SUMMARIES = words("abs append ceil cumsum floor inf isfinite isnan log max mean median min nan pi sqrt std sum var")
_STORES = words("multiprocessing package save serialization")  # modules and functions of torch
_MOST = 1000  # objects behind one answer


def counts_torch_alone(exercise: Exercise) -> bool:
    """Return whether the memory of an answer is counted, and torch's memory alone."""
    measured = [aspect.measured for aspect in exercise.aspects]
    return any(each in COUNTED_IN_TORCH for each in measured) and BYTES_IN_FILES not in measured


def ways_out(answer: object, is_own: Callable[[CodeType], bool]) -> list[ConspicuousPlace]:
    """Return where the code behind an answer takes numbers out of torch.

    `is_own` tells whether code is the student's. The code behind an answer is that of the functions and classes that
    can be reached from it by names, containers, closures and attributes.
    """
    found = set[ConspicuousPlace]()
    waiting, seen = [answer], dict[int, object]()
    while waiting and len(seen) < _MOST:
        thing = waiting.pop()
        if id(thing) in seen:
            continue
        seen[id(thing)] = thing
        if isinstance(thing, FunctionType) and _is_students(thing, is_own):
            codes = [thing.__code__, *inner_codes(thing.__code__)]
            found |= {place for code in codes for place in _in(code, thing.__globals__, is_own)}
            waiting += [thing.__globals__.get(name) for code in codes for name in code.co_names]
            waiting += [cell.cell_contents for cell in thing.__closure__ or () if _is_full(cell)]
            waiting += [*(thing.__defaults__ or ()), *(thing.__kwdefaults__ or {}).values()]
        elif isinstance(thing, ModuleType) and _is_students(thing, is_own):
            waiting += [each for each in vars(thing).values() if isinstance(each, (FunctionType, type))]
        elif callable(thing) and _is_way_out(thing) and not _is_students(thing, is_own):
            # It comes out of a container, for example.
            found.add(ConspicuousPlace.at(None, Kind.OUTSIDE, str(getattr(thing, "__name__", ""))))
        else:
            waiting += _parts(thing)
    return sorted(found)


def _is_full(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


def _parts(thing: Any) -> Iterator[Any]:
    """Yield what an object may use when it is called."""
    match thing:
        case MethodType():
            yield from (thing.__func__, thing.__self__)
        case functools.partial():
            yield from (thing.func, *thing.args, *thing.keywords.values())
        case staticmethod() | classmethod():
            yield thing.__func__
        case property():
            yield from (thing.fget, thing.fset)
        case dict():
            yield from [*thing.values()][:_MOST]
        case list() | tuple() | set():
            yield from [*thing][:_MOST]
        case type() if thing.__module__ == "__main__":
            yield from (*vars(thing).values(), *thing.__mro__[1:])
        case ModuleType() | type() | str() | int() | float() | None:
            pass
        case _ if type(thing).__module__ == "__main__":
            yield type(thing)
            yield from vars(thing).values() if hasattr(thing, "__dict__") else ()


def _is_students(thing: object, is_own: Callable[[CodeType], bool]) -> bool:
    """Return whether a function is the student's, or a module or a class has such functions."""
    members = [*vars(thing).values()] if isinstance(thing, (ModuleType, type)) else [thing]
    return any(isinstance(each, FunctionType) and is_own(each.__code__) for each in members)


def _in(code: CodeType, namespace: dict[str, Any], is_own: Callable[[CodeType], bool]) -> Iterator[ConspicuousPlace]:
    steps = [*steps_of(code)]
    steps = [steps[0], *steps, steps[-1], steps[-1]]
    for before, step, after, second in zip(steps, steps[1:], steps[2:], steps[3:]):
        name, what = step.value, ""
        match step.do:
            case Do.ATTRIBUTE if name in _LEAVES or (name in _STORES and before.value == "torch"):
                what = "" if name == "untyped_storage" and second.value in _OF_STORAGE else name
            case Do.IMPORT if name.partition(".")[0] not in _KEEP_NONE:
                what = name
            case Do.LOAD if step.is_global:
                used, thing = after.value if after.do is Do.ATTRIBUTE else name, namespace.get(name)
                leads_out = _is_way_out(thing) and not _is_students(thing, is_own)
                if leads_out or (name in _BUFFERS and name not in namespace):
                    what = "" if used in _SUMMARIES else name
        if what:
            yield ConspicuousPlace.at(step.line, Kind.OUTSIDE, what)


def _is_way_out(thing: object) -> bool:
    """Return whether a thing is of a library that may keep a tensor's entries."""
    named = isinstance(thing, type) or (callable(thing) and hasattr(thing, "__qualname__"))
    home = thing.__name__ if isinstance(thing, ModuleType) else (thing if named else type(thing)).__module__
    home = str(home or "builtins")
    if home.startswith("torch"):
        stores = any(f"{home}.".startswith(f"torch.{each}.") for each in _STORES)
        return stores or getattr(thing, "__name__", "") in _LEAVES
    return home.partition(".")[0] not in (*_KEEP_NONE, "__main__")
