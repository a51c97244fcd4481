"""Trees of a cell's code, and of code that stands in texts."""

from __future__ import annotations

import ast
import contextlib
import re
from collections.abc import Callable, Iterator, Sequence
from doctest import DocTestParser

from .bindings import Bindings, text_of
from .ordinary import CODE_MAGICS, RUNS_TEXT

_FLAGS = ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
Nodes = Sequence[ast.AST]  # of one tree, as `ast.walk` yields them
Transform = Callable[[str], str]  # of a cell with IPython's own syntax into Python
_BYTES = """
    copy copy2 copyfile copytree link move rename renames replace savetxt symlink
    write writelines write_text write_bytes tofile writestr extractall encode fromhex b64decode a85decode
    decompress tobytes to_bytes pack"""
_WRITES = frozenset(_BYTES.split())  # methods that make files or bytes
_PRINTS = ("tqdm.tqdm", "tqdm.auto.tqdm", "tqdm.notebook.tqdm", "sys.stdout", "sys.stderr")  # their `write`
_HARMLESS_COMMAND = re.compile(
    r"\s*(pip3?|conda|python3? --version|ls|pwd|nvidia-smi|lscpu|free|uname|cat /proc/\w+|(git clone|wget) https?)\b"
    r"([^>|&;]|>=)*"
)


def parse_cell(source: str, transform: Transform) -> ast.Module | None:
    """Return the tree of a cell's code, or None if Python cannot run the cell.

    Raises RecursionError or MemoryError if the code is nested too deeply.
    """
    for change in (str, transform):  # IPython changes nothing in plain Python
        with contextlib.suppress(SyntaxError, ValueError):
            tree = compile(change(source), "<cell>", "exec", _FLAGS, dont_inherit=True)
            assert isinstance(tree, ast.Module)
            return tree
    return None


def _opens_to_write(call: ast.Call) -> bool:
    """Return whether a call opens a file to write, or prints into one."""
    named = {each.arg: each.value for each in call.keywords}
    if not isinstance(call.func, ast.Name) or call.func.id not in ("open", "print"):
        return False
    if call.func.id == "print":
        return "file" in named
    mode = call.args[1] if len(call.args) > 1 else named.get("mode", ast.Constant("r"))
    return bool(re.search(r"^(?!.*b).*[wax+]", text_of(mode) or "w"))  # bytes need a method that writes them


def makes_bytes(nodes: Nodes) -> bool:
    """Return whether code makes bytes that could be a pickled object."""
    return any(
        (isinstance(node, ast.Attribute) and node.attr in ("uint8", "int8", "ubyte", "byte", "frombuffer", "array"))
        or (isinstance(node, ast.Constant) and node.value in ("uint8", "int8", "B", "b", "u1", "i1"))
        for node in nodes
    )


def magics(nodes: Nodes) -> Iterator[tuple[ast.Call, str, list[str | None]]]:
    """Yield a cell's calls of IPython's magics and commands: the call, the name of the method, constant arguments."""
    for node in nodes:
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Call(func=ast.Name(id="get_ipython")), attr=name)):
                yield node, name, [text_of(each) for each in node.args]


def inner_code(nodes: Nodes, transform: Transform) -> Iterator[Nodes]:
    """Yield the nodes of code that stands in texts: of magics such as %%time, and of `timeit`."""
    texts: list[tuple[int, str]] = []
    for call, name, arguments in magics(nodes):
        match name, arguments:
            case "run_line_magic" | "run_cell_magic", [magic, *rest] if magic in CODE_MAGICS:
                texts += [(call.lineno, each) for each in rest if each]
            case "run_cell_magic", ["writefile", str(path), str(body)] if path.strip().endswith(".py"):
                texts.append((call.lineno, body))
    for node in nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, (ast.Name, ast.Attribute)):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
            if called in {path.rpartition(".")[2] for path in RUNS_TEXT}:
                given = [*node.args, *(each.value for each in node.keywords)]
                texts += [(node.lineno, text) for each in given if (text := text_of(each))]
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and ">>> " in node.value:
            with contextlib.suppress(ValueError):
                texts += [(node.lineno, each.source) for each in DocTestParser().get_examples(node.value)]
    for line, text in texts:
        text = re.sub(r"^(?:\s*+-\w++(?:\s++\d++)?+)*+", "", text).lstrip()  # options of a magic
        if inside := parse_cell(text, transform):
            ast.increment_lineno(inside, line - 1)
            inner = [*ast.walk(inside)]
            yield inner
            yield from inner_code(inner, transform)


def written_modules(nodes: Nodes) -> Iterator[str]:
    for _, name, arguments in magics(nodes):
        match name, arguments:
            case "run_cell_magic", ["writefile", str(path), _] if path.strip():
                yield path.split()[-1].removesuffix(".py")


def writes_files(nodes: Nodes, bindings: Bindings) -> bool:
    """Return whether code makes files or bytes that are not read here, or runs commands that may."""
    for _, name, arguments in magics(nodes):
        match name, arguments:
            case "system" | "getoutput", [str(command)] if _HARMLESS_COMMAND.fullmatch(command):
                pass
            case "system" | "getoutput", _:
                return True
            case "run_cell_magic", ["writefile" | "file", str(path), _] if not path.strip().endswith(".py"):
                return True
            case "run_cell_magic", ["bash" | "sh" | "script" | "system" | "sx" | "perl", *_]:
                return True
    return any(
        (isinstance(node, ast.Attribute) and node.attr in _WRITES and bindings.path(node.value) not in _PRINTS)
        or (isinstance(node, ast.Name) and node.id in ("bytes", "bytearray"))
        or (isinstance(node, ast.Call) and _opens_to_write(node))
        or (isinstance(node, ast.Constant) and isinstance(node.value, bytes) and len(node.value) > 4)
        for node in nodes
    )
