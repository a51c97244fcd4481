"""Detection of tampering with torch, the builtins, IPython and the course's code.

A child is a fork of the fork server. A name that nobody has replaced stands for the same object in both processes.
A namespace whose number has not moved is as it was (see `dict_versions`). Others are compared as a whole, and those
that may differ name by name.
"""

from __future__ import annotations

import builtins
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from operator import attrgetter, is_, itemgetter
from types import (
    BuiltinFunctionType,
    FunctionType,
    GetSetDescriptorType,
    MethodDescriptorType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any

import torch

from ....checking.exercise import Exercise
from ....exercises import SHARED
from ..wire.channel import bind_methods
from .active_hooks import ActiveHooks
from .audit_hook import watch
from .code_watch import CodeWatch
from .dict_versions import version_of
from .operators import Operators

_GUARDED = re.compile(
    r"builtins|torch|torch\._C(\._(autograd|profiler))?|torch\.autograd(\.(anomaly_mode|forward_ad|function|functional|grad_mode|gradcheck|graph|variable))?|torch\.func|torch\._functorch\.(apis|eager_transforms|vmap)|torch\._tensor"
    r"|torch\.nn\.(functional|parameter|modules\.(module|linear|activation|loss|container))|torch\.linalg|torch\.random"
    r"|torch\.optim\.(optimizer|sgd|adam)|torch\.utils\.(checkpoint|_python_dispatch|_pytree)|torch\.(overrides|storage)"
    r"|torch\.testing\._comparison|autograder(\.\w+)+|IPython\.core\.(interactiveshell|displayhook|displaypub|events)"
    r"|contextlib|copy|hashlib|inspect|itertools|json(\.\w+)?|linecache|math|operator|os|random|signal|socket|struct|tempfile|threading|warnings|weakref"
)  # modules with names that probes and the course's code use
_ONLY_SHOWN = re.compile(
    r".*\.(__repr__|__str__|__format__|__doc__|__file__|__path__|__loader__|__spec__|__cached__|__warningregistry__)"
    r"|builtins\.(print|input|help|exit|quit)|json(\.encoder)?\.JSONEncoder\.default|torch\.(load|save|Storage|Tensor\.ndim)|.*\.cuda"
    r"|warnings\.(showwarning|formatwarning)"
)  # irrelevant for observations: display methods, files, attributes that a reload rewrites, the registry of warnings
LessonModules = Mapping[str, Mapping[str, ModuleType]]  # exercises' modules by lesson and name
_LAZY = {"__annotations__"}  # Python 3.11 adds it to a class when somebody reads it, as `help` does
_WATCHED = (
    FunctionType,
    BuiltinFunctionType,
    MethodDescriptorType,
    WrapperDescriptorType,
    GetSetDescriptorType,
    property,
    type,
)
_MEASURES = ("autograder.measure", "autograder.checking", "autograder.exercises.")  # only an attack changes these
_RELYING = (*_MEASURES, "autograder.grading.conspicuous")
_ABSENT = object()  # in the place of a name that is not there
_IMMUTABLE = 1 << 8  # Py_TPFLAGS_IMMUTABLETYPE: the names of a class written in C cannot be replaced


def _can_change(kind: type) -> bool:
    """Return whether names of a class can be replaced.

    Legacy tensor types such as torch.FloatTensor do not count, as nothing calls them.
    """
    is_old = kind.__module__ == "torch" and kind.__name__.endswith("Tensor") and kind is not torch.Tensor
    return not (is_old or kind.__flags__ & _IMMUTABLE)


def _is_guarded(kind: type, where: str) -> bool:
    """Return whether the names of a class in the namespace `where` are recorded.

    The standard library's classes are, whatever module they call their home: `weakref.WeakSet` is of `_weakrefset`.
    """
    return where.partition(".")[0] in sys.stdlib_module_names or _GUARDED.fullmatch(str(kind.__module__)) is not None


def _relied_on(modules: list[Any]) -> frozenset[str]:
    """Return the names of the standard library's modules that our measuring code looks names up in."""
    ours = [vars(each).values() for each in modules if str(getattr(each, "__name__", "")).startswith(_RELYING)]
    found = {value.__name__ for values in ours for value in values if type(value) is ModuleType}
    return frozenset(found & sys.stdlib_module_names) - {"sys"}  # Python itself changes that one


def _is_table(where: str, name: str) -> bool:
    """Return whether the items of a dict are recorded: of an exercise, or a table that checks rest on."""
    of_exercise = where.startswith("autograder.exercises.") and name != "__builtins__"
    return of_exercise or (where.startswith(("autograder.checking.", "autograder.measure")) and name.isupper())


class _Names:
    """A snapshot of one namespace, whose dotted name is `where`.

    `owner` is its class, or None for a dict. `was` maps the recorded names to objects. `hiding` holds absent names. An
    absent name that is added would shadow a builtin or an inherited name.
    """

    def __init__(
        self, where: str, namespace: Any, owner: type | None, was: dict[str, Any], hiding: frozenset[str]
    ) -> None:
        self.where, self._namespace, self._owner, self._was, self._hiding = where, namespace, owner, was, hiding
        of_exercise_class = owner is not None and where.startswith("autograder.exercises.")  # calls are counted in it
        self.measures = where.startswith(_MEASURES) and not of_exercise_class
        self.of_torch = where == "torch" or where.startswith("torch.")
        self.version = version_of(namespace) if owner or namespace.get("__name__") == where else None  # a module
        self.seen = self.version.value if self.version else None  # when it was last the same
        self.same = _comparison(namespace, was, bool(hiding))
        bind_methods(self)

    def changed(self) -> list[str]:
        """Return the dotted names that were replaced or removed, or added so that they shadow another name."""
        return [f"{self.where}.{name}" for name in self._changed()]

    def _changed(self) -> list[str]:
        replaced = [name for name, value in self._was.items() if self._namespace.get(name) is not value]
        return [*replaced, *(self._hiding & self._namespace.keys())]

    def put_back(self) -> dict[str, Any]:
        """Put back what was recorded. Returns the objects that stood there, by name."""
        stood = {name: self._namespace.get(name, _ABSENT) for name in self._changed()}
        self.put({name: self._was.get(name, _ABSENT) for name in stood})
        return stood

    def put(self, objects: Mapping[str, Any]) -> None:
        """Put objects under their names. A name with _ABSENT is deleted."""
        for name, value in objects.items():
            if self._owner is None and value is _ABSENT:
                self._namespace.pop(name, None)
            elif self._owner is None:
                self._namespace[name] = value
            elif value is _ABSENT:
                type.__delattr__(self._owner, name)
            else:
                type.__setattr__(self._owner, name, value)


def _comparison(namespace: Mapping[str, Any], was: Mapping[str, Any], hiding: bool) -> Callable[[], bool]:
    """Return a function that tells whether a namespace surely holds the objects `was` under their names.

    If `hiding` is True, it must also have the names that it has now, and no others.
    """
    names = [*was, *(name for name in namespace if hiding and name not in was)]
    get, objects, count = itemgetter(*names, names[0]), tuple(was.values()), len(namespace)  # of one name: no tuple
    every, pairs, size = all, map, len  # student code may replace the builtins

    def same() -> bool:
        try:
            return every(pairs(is_, get(namespace), objects)) and not (hiding and size(namespace) != count)
        except KeyError:
            return False

    return same


class _Compared:
    """Namespaces that are compared together.

    To read the numbers of all takes 0.03 ms, to compare all names 2 ms in a child, whose memory is cold.
    """

    def __init__(self, looked_at: list[_Names]) -> None:
        self._numbered = [names for names in looked_at if names.version]
        self._others = [names for names in looked_at if not names.version]
        self._versions, self._seen = [names.version for names in self._numbered], [n.seen for n in self._numbered]
        self._read, self._pairs, self._count = attrgetter("value"), map, enumerate  # a student may replace the builtins
        bind_methods(self)

    def changed(self) -> list[_Names]:
        """Return the namespaces that may have changed."""
        found = [names for names in self._others if not names.same()]
        now = [*self._pairs(self._read, self._versions)]
        if now != self._seen:
            for place, number in self._count(now):
                if number == self._seen[place]:
                    continue
                names = self._numbered[place]
                if names.same():
                    self._seen[place] = names.seen = number  # read before the comparison
                else:
                    found.append(names)
        return found


class Guard:
    """A detector of changes to recorded names and functions.

    A guard is created in the fork server before any student code runs. It keeps the original objects alive.
    """

    def __init__(self, exercises: LessonModules) -> None:
        """Record the modules in `sys.modules`, and the modules of `exercises`.

        The modules of exercises are not in `sys.modules`.
        """
        self._names: list[_Names] = []
        self._functions: dict[int, str] = {}
        self._closures: list[tuple[str, Any, Any]] = []
        self.refused: list[str] = []  # attempts that `watch` has refused
        seen: set[int] = set()
        modules: dict[str, Any] = {}
        # The course's modules last: a torch function that they import is then recorded and reported under torch's name.
        relied_on = _relied_on([*sys.modules.values()])
        for name, module in sorted(sys.modules.items(), key=lambda item: (item[0].startswith("autograder"), item[0])):
            if (_GUARDED.fullmatch(name) or name in relied_on) and module is not None:
                modules[name] = module
                self._watch_module(name, module, seen, whole=name.startswith("autograder"))
        for module in (module for modules in exercises.values() for module in modules.values()):
            self._watch_module(module.__name__, module, seen, whole=True)
        self._names.append(_Names("sys.modules", sys.modules, None, modules, frozenset()))
        self._kinds = [(name, module, type(module)) for name, module in modules.items()]
        self._operators = Operators()
        self._lessons: str | None = None
        self._triples = zip  # a student may replace the builtins
        self._look_at(self._names)
        processwide = ActiveHooks()
        self.in_order, self.left_on = processwide.in_order, processwide.now
        bind_methods(self)

    def _watch_module(self, name: str, module: ModuleType, seen: set[int], whole: bool) -> None:
        if whole:
            vars(module).setdefault("__warningregistry__", {})  # else the first warning there adds it
        hiding = frozenset(vars(builtins)) - vars(module).keys()
        self._watch(name, vars(module), seen, hiding, whole=whole)

    def _watch(
        self,
        where: str,
        namespace: Mapping[str, Any],
        seen: set[int],
        hiding: frozenset[str] = frozenset(),
        whole: bool = False,
        owner: type | None = None,
    ) -> None:
        """Record the functions and classes of a namespace. If `whole` is True, record every name.

        `where` is the namespace's dotted name, `owner` the class that it belongs to. `hiding` holds absent names that
        would shadow other names. `seen` collects the ids of objects that are already recorded.
        The attributes of an Exercise are recorded one by one. So are the items of a dict in an exercise's module.
        """
        was: dict[str, Any] = {}
        for name, value in list(namespace.items()):
            # By type: `isinstance` would access attributes of torch's placeholder objects, some of which warn or raise.
            inner = value.__func__ if type(value) in (staticmethod, classmethod) else value
            if not whole and not issubclass(type(inner), _WATCHED):
                continue
            path = f"{where}.{name}"
            if _ONLY_SHOWN.fullmatch(path):
                continue
            was[name] = value
            if id(inner) in seen:
                continue
            seen.add(id(inner))
            if isinstance(inner, property):
                accessors = (inner.fget, inner.fset, inner.fdel)
                self._functions |= {id(each): path for each in accessors if isinstance(each, FunctionType)}
            if isinstance(inner, FunctionType):
                self._functions[id(inner)] = path
                if whole:
                    self._closures += [(path, cell, cell.cell_contents) for cell in inner.__closure__ or ()]
            elif type(inner) is Exercise:
                self._watch(path, vars(inner), seen, whole=True)
            elif type(inner) is dict and _is_table(where, name):
                self._watch(path, inner, seen, whole=True)
            elif isinstance(inner, type) and _can_change(inner) and _is_guarded(inner, where):
                inherited = {name for base in inner.__mro__[1:] for name in vars(base)} - _LAZY - vars(inner).keys()
                hidden = frozenset(name for name in inherited if not _ONLY_SHOWN.fullmatch(f"{path}.{name}"))
                self._watch(path, vars(inner), seen, hidden, owner=inner)
        if was or hiding:
            self._names.append(_Names(where, namespace, owner, was, hiding))

    def focus(self, *lessons: str) -> None:
        """Exclude the exercises of all lessons but `lessons` from later comparisons.

        The exercises of other lessons make up most of the recorded names.
        """
        named = "|".join(sorted({*lessons, SHARED}))
        if named == self._lessons:
            return
        self._lessons = named
        others = re.compile(rf"autograder\.exercises\.(?!({named})\b)[a-z]\w*(\..*)?")
        self._look_at([names for names in self._names if not others.fullmatch(names.where)])

    def _look_at(self, names: list[_Names]) -> None:
        self._of_torch = _Compared([each for each in names if each.of_torch])
        self._rest = _Compared([each for each in names if not each.of_torch])
        self._measuring = [(each.where, each.version) for each in names if each.measures and each.version]
        self._last = [version.value for _, version in self._measuring]

    def changed(self, with_torch: bool = False) -> list[str]:
        """Return the dotted names that have changed since the start, those of torch only if `with_torch`."""
        suspects = [*self._rest.changed(), *(self._of_torch.changed() if with_torch else [])]
        found = [path for names in suspects for path in names.changed()]
        found += [path for path, cell, was in self._closures if cell.cell_contents is not was]
        found += [f"{name}.__class__" for name, module, kind in self._kinds if type(module) is not kind]
        return found + self._operators.changed()

    def moved(self) -> list[str]:
        """Return what measures, where it was changed since the last call, and perhaps put back."""
        now = [version.value for _, version in self._measuring]
        found = [where for (where, _), was, new in self._triples(self._measuring, self._last, now) if was != new]
        self._last = now
        return found

    @contextmanager
    def torch_put_back(self, changed: list[str]) -> Iterator[None]:
        """Put back torch's own functions inside the `with` block, and afterwards what a notebook has replaced.

        Packages such as lightning and torchrl replace some as soon as they are imported. The dotted names that were
        changed inside the block are appended to `changed`.
        """
        replaced = [(names, names.put_back()) for names in self._of_torch.changed()]
        try:
            yield
        finally:
            changed += [path for names in self._of_torch.changed() for path in names.changed()]
            for names, objects in replaced:
                names.put(objects)

    def watch(self, code_watch: CodeWatch) -> None:
        """Install the audit hook, which refuses student code access to hidden objects.

        The hook appends a text about each attempt to the list `refused`. `code_watch` sees what runs code.
        """
        watch(self._functions, self.refused, code_watch)
