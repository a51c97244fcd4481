"""Conspicuous places in a submission's source.

Only an attack or an odd habit needs them. Examples are an assignment to a function of a library, a stack frame, and
code that is made out of texts. Places are for a person to look at. They accuse nobody and take no points.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field

from .bindings import Bindings
from .cell_code import Nodes, Transform, inner_code, makes_bytes, parse_cell, writes_files, written_modules
from .ordinary import measuring_names
from .outside_torch import data_outside_torch
from .reader import Kind, Reader

MOST_PLACES = 20  # of one submission
_MOST_READ = 400_000  # characters of code that are read
_OTHER_ENCODING = re.compile(rb"(.*\n)?[ \t\f]*#.*?coding[:=][ \t]*(?!utf-?8\b)[-\w.]", re.I)


@dataclass(frozen=True, order=True)
class ConspicuousPlace:
    """A conspicuous place.

    `source` is the number of a source, from 0. `line` is a line in it, from 1. `what` says what is there.
    """

    source: int
    line: int
    kind: Kind
    what: str


@dataclass(frozen=True)
class ReleasedCode:
    """The sources of released code cells, and the names that they bind."""

    sources: frozenset[str] = frozenset()
    bindings: Bindings = field(default_factory=Bindings)

    @classmethod
    def of(cls, sources: Sequence[str], transform: Transform) -> ReleasedCode:
        """Read released cells.

        A trial run fills the caches that children inherit: without it a child needs 30 ms more. Released cells need
        not ask for `measuring_names`, which costs a child 2,600 page faults.
        """
        find_places(sources, {}, False, Bindings(), frozenset(), transform)
        measuring_names.cache_clear()  # another lesson imports other modules
        measuring_names()
        bindings = Bindings()
        trees = [tree for source in dict.fromkeys(sources) if (tree := parse_cell(source, transform))]
        bindings.read([node for tree in trees for node in ast.walk(tree)])
        return cls(frozenset(sources), bindings)


def find_places(
    sources: Sequence[str],
    modules: Mapping[str, bytes],
    files: bool,
    bindings: Bindings,
    counted: Set[str],
    transform: Transform,
) -> list[ConspicuousPlace]:
    """Return the conspicuous places in a submission's code, at most `MOST_PLACES`.

    `sources` are the student's own cells. `modules` maps paths of the student's Python files to their contents. In the
    result they are numbered after the cells. `files` tells whether other files were handed in. `bindings` are those of
    the released cells. The student's are added to them. `counted` are the names of answers whose memory is counted.
    """
    found: list[ConspicuousPlace] = []
    trees: dict[int, Nodes] = {}  # by number of the source
    left = _MOST_READ
    texts: list[str | bytes] = [*sources, *modules.values()]
    for number, text in enumerate(texts):
        left -= len(text)
        try:
            tree = parse_cell(_decoded(text), transform if number < len(sources) else str) if left >= 0 else None
        except (RecursionError, MemoryError, UnicodeDecodeError):
            found.append(ConspicuousPlace(number, 1, Kind.UNREAD, ""))
            continue
        if left < 0:
            found.append(ConspicuousPlace(number, 1, Kind.UNREAD, ""))
        elif tree:
            trees[number] = [*ast.walk(tree)]
    names = {path.removesuffix(".py").removesuffix("/__init__") for path in modules}  # packages and top modules
    names |= {name for tree in trees.values() for name in written_modules(tree)}
    # A file does not replace what is imported already.
    bindings.own = frozenset(name for name in bindings.own | names if name not in sys.modules)
    try:
        found += _found(trees, files, bindings, counted, transform)
    except (RecursionError, MemoryError):
        found.append(ConspicuousPlace(next(iter(trees)), 1, Kind.UNREAD, ""))
    return _first(sorted(set(found)))


def _first(places: list[ConspicuousPlace]) -> list[ConspicuousPlace]:
    """Return at most `MOST_PLACES` places, those of each kind in turn, and how many more there are."""
    seen: Counter[Kind] = Counter()
    turns: list[tuple[int, ConspicuousPlace]] = []
    for place in places:
        turns.append((seen[place.kind], place))
        seen[place.kind] += 1
    listed = sorted(place for _, place in sorted(turns)[:MOST_PLACES])
    more = len(places) - len(listed)
    return [*listed, ConspicuousPlace(places[-1].source, places[-1].line, Kind.MORE, str(more))] if more else listed


def _decoded(text: str | bytes) -> str:
    """Return a source as text. Raises UnicodeDecodeError if a file is not in UTF-8, or says so."""
    if isinstance(text, str):
        return text
    if _OTHER_ENCODING.match(text):
        raise UnicodeDecodeError("utf-8", text, 0, 1, "another encoding")
    return text.decode("utf-8-sig")


def _found(
    trees: Mapping[int, Nodes], files: bool, bindings: Bindings, counted: Set[str], transform: Transform
) -> Iterator[ConspicuousPlace]:
    """Yield the places in `trees`, whose nodes are given by the number of their source."""
    inner = [(number, each) for number, nodes in trees.items() for each in inner_code(nodes, transform)]
    everything = [*trees.items(), *inner]
    bindings.read([node for _, nodes in everything for node in nodes])
    writes = files or any(writes_files(nodes, bindings) for _, nodes in everything)
    packs = any(makes_bytes(nodes) for _, nodes in everything)
    for number, (tree, *_) in everything:
        reader = Reader(bindings, writes, packs)
        try:
            reader.visit(tree)
        except Exception:  # nested too deeply, or a number too long to be shown: the other cells are read all the same
            yield ConspicuousPlace(number, 1, Kind.UNREAD, "")
        yield from (ConspicuousPlace(number, *place) for place in reader.found)
    outside = data_outside_torch([(number, tree) for number, (tree, *_) in everything], counted, bindings)
    yield from (ConspicuousPlace(number, line, Kind.OUTSIDE, what) for number, line, what in outside)
