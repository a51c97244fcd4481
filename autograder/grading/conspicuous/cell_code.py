"""Trees of a cell's code, and of code that stands in texts."""

from __future__ import annotations

import ast
import contextlib
import re
from collections.abc import Callable, Iterator
from doctest import DocTestParser

from .bindings import Bindings, text_of
from .ordinary import CODE_MAGICS, RUNS_TEXT

Transform = Callable[[str], str]  # of a cell with IPython's own syntax into Python
_BYTES = """
    write writelines write_text write_bytes tofile writestr extractall encode fromhex b64decode a85decode
    decompress tobytes to_bytes pack"""
_WRITES = frozenset(_BYTES.split())  # methods that make files or bytes
_PRINTS = ("tqdm.tqdm", "tqdm.auto.tqdm", "tqdm.notebook.tqdm", "sys.stdout", "sys.stderr")  # their `write`
_HARMLESS_COMMAND = re.compile(
    r"\s*(pip3?|conda|python3? --version|ls|pwd|nvidia-smi|lscpu|free|uname|cat /proc/\w+|(git clone|wget) https?)\b"
    r"([^>|&;]|>=)*"
)


def parse(source: str, transform: Transform) -> ast.Module | None:
    """Return the tree of a cell's code, or None if Python cannot run the cell.

    Raises RecursionError or MemoryError if the code is nested too deeply.
    """
    try:
        flags = ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        tree = compile(transform(source), "<cell>", "exec", flags, dont_inherit=True)
    except (SyntaxError, ValueError):
        return None
    assert isinstance(tree, ast.Module)
    return tree


def _magics(tree: ast.AST) -> Iterator[tuple[ast.Call, str, list[str | None]]]:
    """Yield a cell's calls of IPython's magics and commands: the call, the name of the method, constant arguments."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Call(func=ast.Name(id="get_ipython")), attr=name)):
                yield node, name, [text_of(each) for each in node.args]


def inner_code(tree: ast.AST, transform: Transform) -> Iterator[ast.Module]:
    """Yield the trees of code that stands in texts: of magics such as %%time, and of `timeit`."""
    texts = []
    for call, name, arguments in _magics(tree):
        if name.startswith("run_") and arguments and arguments[0] in CODE_MAGICS:
            texts += [(call.lineno, text) for text in arguments[1:] if text]
        if name == "run_cell_magic" and arguments[0] == "writefile" and str(arguments[1]).strip().endswith(".py"):
            texts.append((call.lineno, str(arguments[2])))
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, (ast.Name, ast.Attribute)):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
            if name in {path.rpartition(".")[2] for path in RUNS_TEXT}:
                given = [*node.args, *(each.value for each in node.keywords)]
                texts += [(node.lineno, text) for each in given if (text := text_of(each))]
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and ">>> " in node.value:
            with contextlib.suppress(ValueError):
                texts += [(node.lineno, each.source) for each in DocTestParser().get_examples(node.value)]
    for line, text in texts:
        text = re.sub(r"^\s*(-\w+\s*\d*\s+)+", "", text)  # options of a magic
        if inside := parse(text, transform):
            ast.increment_lineno(inside, line - 1)
            yield inside
            yield from inner_code(inside, transform)


def written_modules(tree: ast.AST) -> Iterator[str]:
    for _, name, arguments in _magics(tree):
        if name == "run_cell_magic" and arguments[0] == "writefile":
            yield str(arguments[1]).split()[-1].rpartition("/")[2].removesuffix(".py")


def writes_files(tree: ast.AST, bindings: Bindings) -> bool:
    """Return whether code makes files or bytes that are not read here, or runs commands that may."""
    for _, name, arguments in _magics(tree):
        if name in ("system", "getoutput") and not _HARMLESS_COMMAND.fullmatch(str(arguments[0])):
            return True
        if name == "run_cell_magic" and arguments[0] in ("bash", "sh", "script", "system", "!", "sx", "perl", "python"):
            return True
    return any(
        (isinstance(node, ast.Attribute) and node.attr in _WRITES and bindings.path(node.value) not in _PRINTS)
        or (isinstance(node, ast.Name) and node.id in ("bytes", "bytearray"))
        or (isinstance(node, ast.Constant) and isinstance(node.value, bytes) and len(node.value) > 4)
        for node in ast.walk(tree)
    )
