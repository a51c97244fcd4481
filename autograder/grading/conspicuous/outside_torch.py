"""Data that an answer keeps outside of torch.

Some exercises count memory, and see torch's memory alone. NumPy's arrays, Python's numbers, files and buffers are in
no count of bytes. Most answers need none of them, and those that do are shown to a person.
"""

from __future__ import annotations

import ast
import symtable
from collections.abc import Iterable, Iterator, Sequence, Set

from ...checking.exercise import Exercise
from ...checking.labels import BYTES_IN_FILES, COUNTED_IN_TORCH
from .bindings import UNKNOWN, Bindings
from .ordinary import words

# Modules whose objects hold no numbers of a tensor, or hold them as tensors.
_KEEP_NONE = words(
    """__future__ abc autograder builtins collections contextlib copy dataclasses enum functools gc inspect itertools
    math numbers operator random time types typing typing_extensions warnings weakref"""
)
_LEAVES = words("numpy tolist tobytes storage typed_storage share_memory_ __array__ __dlpack__")
_OF_STORAGE = words("_cdata data_ptr nbytes size element_size device")  # attributes that are no entries
_FOREIGN = words(
    """_C asarray distributed from_dlpack from_file from_numpy frombuffer jit multiprocessing package save serialization
    utils.data utils.dlpack DoubleStorage FloatStorage TypedStorage UntypedStorage"""
)  # what torch has for memory that it does not count
_BUFFERS = words("open bytes bytearray memoryview")
_NUMBERS = words("float int complex bool")
_Found = tuple[ast.AST, str]  # where, and what is there


def counted_in(exercises: Iterable[Exercise]) -> set[str]:
    """Return the names of the answers whose memory is counted, where only torch's memory is."""
    found = set()
    for exercise in exercises:
        measured = [aspect.measured for aspect in exercise.aspects]
        if any(each in COUNTED_IN_TORCH for each in measured) and BYTES_IN_FILES not in measured:
            found.add(exercise.asks)
    return found


def data_outside_torch(
    trees: Iterable[tuple[int, ast.AST]], answers: Set[str], bindings: Bindings
) -> Iterator[tuple[int, int, str]]:
    """Yield where the code behind `answers` keeps numbers outside of torch: number of the source, line, what is there.

    `trees` are modules, each with the number of its source. `answers` are the names of answers whose memory is counted.
    The code behind an answer is each statement at the top level that binds or changes a name that the answer needs.
    """
    statements = [(number, each) for number, tree in trees if isinstance(tree, ast.Module) for each in tree.body]
    for number, statement in _behind(statements, answers, bindings.own):
        lines: set[int] = set()
        for node, what in _kept(statement, bindings):
            line = getattr(node, "lineno", 1)
            if line not in lines:
                yield number, line, what
            lines.add(line)


def _behind(statements: list[tuple[int, ast.stmt]], names: Set[str], own: Set[str]) -> Iterator[tuple[int, ast.stmt]]:
    """Yield the statements that bind or change one of `names`, or a name that such a statement needs.

    A module of the student's own, one of `own`, is needed as a whole.
    """
    changing: dict[str, list[tuple[int, ast.stmt]]] = {}
    for number, statement in statements:
        for name in _changed(statement):
            changing.setdefault(name, []).append((number, statement))
    waiting, known, found = [*names], set(names), set[int]()
    while waiting:
        for number, statement in changing.pop(waiting.pop(), ()):
            if id(statement) in found:
                continue
            found.add(id(statement))
            yield number, statement
            needed = changing.keys() if _imports(statement, own) else _needed(statement)
            waiting += needed - known
            known |= needed


def _imports(statement: ast.stmt, own: Set[str]) -> bool:
    for node in ast.walk(statement):
        match node:
            case ast.Import(names=names) if any(each.name.partition(".")[0] in own for each in names):
                return True
            case ast.ImportFrom(module=str(module)) if module.partition(".")[0] in own:
                return True
    return False


def _changed(statement: ast.stmt) -> set[str]:
    """Return the names that a statement binds, and those of objects that it may change."""
    names: set[str] = set()
    for node in ast.walk(statement):
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                names.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
            case ast.Import(names=imported) | ast.ImportFrom(names=imported):
                names |= {(each.asname or each.name).partition(".")[0] for each in imported}
            case ast.Attribute(ctx=ast.Store()) | ast.Subscript(ctx=ast.Store()):
                names.add(_root(node))
            case ast.Expr(value=ast.Call(func=called, args=arguments)):
                names |= {_root(called)} if isinstance(called, ast.Attribute) else set()
                names |= {each.id for each in arguments if isinstance(each, ast.Name)}
    return names


def _root(node: ast.AST) -> str:
    """Return the name at the beginning of an expression such as `name.attribute[0].other`, or an empty text."""
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def _needed(statement: ast.stmt) -> set[str]:
    """Return the names of a statement that are not local to one of its functions."""
    tables = [symtable.symtable(ast.unparse(statement), "<cell>", "exec")]
    names: set[str] = set()
    while tables:
        table = tables.pop()
        tables += table.get_children()
        top = table.get_type() == "module"
        names |= {each.get_name() for each in table.get_symbols() if top or each.is_global()}
    return names


def _kept(statement: ast.stmt, bindings: Bindings) -> Iterator[_Found]:
    nodes = [*ast.walk(statement)]
    entries = _entries(nodes)
    of_storage = {id(each.value) for each in nodes if isinstance(each, ast.Attribute) and each.attr in _OF_STORAGE}
    for node in nodes:
        match node:
            case ast.Call(func=ast.Attribute(attr="untyped_storage")) if id(node) not in of_storage:
                yield node, "untyped_storage"
            case ast.Attribute(attr=name) if name in _LEAVES:
                yield node, name
            case ast.Name() | ast.Attribute() if (path := bindings.path(node)) and _is_foreign(path):
                yield node, path
            case ast.Name(id=name, ctx=ast.Load()) if name in _BUFFERS and name not in bindings.functions:
                yield node, name
            case ast.Assign(value=ast.Name(id=name)) | ast.Call(func=ast.Name("map"), args=[ast.Name(id=name), *_]):
                if name in _NUMBERS:
                    yield node, name
            case ast.Call(func=ast.Name(id=name), args=[given, *_]) if name in _NUMBERS and _is_entry(given, entries):
                yield node, ast.unparse(node)
            case ast.Attribute(value=given, attr="item") if _is_entry(given, entries):
                yield node, ast.unparse(node)


def _is_foreign(path: str) -> bool:
    """Return whether a module or function may keep numbers where no count of torch's memory sees them."""
    if path.partition(".")[0] == "torch":
        return any(f"{path}.".startswith(f"torch.{each}.") for each in _FOREIGN)
    return path != UNKNOWN and path.partition(".")[0] not in _KEEP_NONE


def _entries(nodes: Sequence[ast.AST]) -> set[str]:
    """Return the names that stand for one entry of a tensor after another, as in `for v in tensor`."""
    found: set[str] = set()
    before = None
    while before != found:
        before = set(found)
        lists = _own_lists(nodes, found)
        for node in nodes:
            match node:
                case ast.For(target=target, iter=of) | ast.comprehension(target=target, iter=of):
                    found |= set() if _has_no_entries(of, lists) else _names_in(target)
                case ast.NamedExpr(target=target):
                    found |= _names_in(target)
                case ast.Assign(targets=[ast.Name(id=name)], value=given) if _is_entry(given, found):
                    found.add(name)
    return found


def _names_in(target: ast.expr) -> set[str]:
    return {each.id for each in ast.walk(target) if isinstance(each, ast.Name)}


def _own_lists(nodes: Sequence[ast.AST], entries: Set[str]) -> set[str]:
    """Return the names of lists that hold no entries of a tensor: of losses, to which `append` adds one at a time."""
    lists, others = set[str](), set[str]()
    for node in nodes:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.List(elts=[])):
                lists.add(name)
            case ast.Call(func=ast.Attribute(value=ast.Name(), attr="append"), args=[given]) if not _is_entry(
                given, entries
            ):
                pass
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name))) | ast.AugAssign(target=ast.Name(id=name)):
                others.add(name)
            case ast.Assign(targets=[ast.Name(id=name) | ast.Subscript(value=ast.Name(id=name))]):
                others.add(name)
    return lists - others


def _has_no_entries(iterable: ast.expr, lists: Set[str]) -> bool:
    match iterable:
        case ast.Name(id=name):
            return name in lists
        case ast.Call(func=ast.Name("range")):
            return True
        case ast.Call(func=ast.Name("enumerate" | "zip" | "reversed"), args=parts):
            return all(_has_no_entries(part, lists) for part in parts)
    return False


def _is_entry(node: ast.AST, entries: Set[str]) -> bool:
    """Return whether an expression is one of a sequence, such as `v`, `t[i]` or `next(values)`."""
    match node:
        case ast.Name(id=name):
            return name in entries
        case ast.Subscript(slice=index):
            return not isinstance(index, ast.Constant)
        case ast.Call(func=ast.Name("next")):
            return True
    return False
