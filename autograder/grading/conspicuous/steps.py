"""Steps of a code object, the same for all versions of Python."""

from __future__ import annotations

import dis
import re
from collections.abc import Iterator
from enum import Enum, auto
from types import CodeType
from typing import Any, NamedTuple

_SILENT = frozenset(("CACHE", "EXTENDED_ARG", "KW_NAMES", "NOP", "NOT_TAKEN", "PRECALL", "PUSH_NULL", "RESUME"))
_SILENT |= {"COPY", "POP_TOP", "SWAP"}  # they stand inside of `import a.b as c`
_VARIABLE = re.compile("(LOAD|STORE|DELETE)_(FAST|NAME|GLOBAL|DEREF|CLASSDEREF|FROM_DICT)")


class Do(Enum):
    """The things that a step can do."""

    LOAD = auto()  # a variable
    STORE = auto()  # into a variable
    FORGET = auto()  # a variable
    CONSTANT = auto()
    ATTRIBUTE = auto()  # is loaded
    SET = auto()  # an attribute
    DELETE = auto()  # an attribute
    IMPORT = auto()  # a module
    FROM = auto()  # a name of the module
    STAR = auto()  # all names of the module
    CALL = auto()
    CLASS = auto()  # begins a `class` statement
    CONTAINS = auto()
    PUT = auto()  # an item
    OTHER = auto()


class Step(NamedTuple):
    """One instruction of a code object.

    `value` is a name or a constant. `is_global` tells whether a variable is global.
    """

    do: Do
    value: Any
    line: int | None
    is_global: bool = False


_DOES = {
    "LOAD_ATTR": Do.ATTRIBUTE,
    "LOAD_METHOD": Do.ATTRIBUTE,
    "STORE_ATTR": Do.SET,
    "DELETE_ATTR": Do.DELETE,
    "LOAD_CONST": Do.CONSTANT,
    "LOAD_SMALL_INT": Do.CONSTANT,
    "IMPORT_NAME": Do.IMPORT,
    "IMPORT_FROM": Do.FROM,
    "IMPORT_STAR": Do.STAR,
    "CONTAINS_OP": Do.CONTAINS,
    "LOAD_BUILD_CLASS": Do.CLASS,
    "STORE_SUBSCR": Do.PUT,
    "DELETE_SUBSCR": Do.PUT,
}


def steps_of(code: CodeType) -> Iterator[Step]:
    """Yield the steps of a code object, without those of the code objects inside it."""
    for op in dis.get_instructions(code):
        name, value = op.opname, op.argval
        if name in _SILENT:
            continue
        line = op.positions.lineno if op.positions else None
        if variables := _VARIABLE.findall(name):
            values = value if isinstance(value, tuple) else (value,) * len(variables)
            for (does, where), each in zip(variables, values):
                do = {"LOAD": Do.LOAD, "STORE": Do.STORE}.get(does, Do.FORGET)
                yield Step(do, each, line, where in ("NAME", "GLOBAL", "FROM_DICT"))
        elif op.argrepr == "INTRINSIC_IMPORT_STAR":
            yield Step(Do.STAR, None, line)
        else:
            yield Step(_DOES.get(name, Do.CALL if name.startswith("CALL") else Do.OTHER), value, line)
