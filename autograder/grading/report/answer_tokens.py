"""Tokens of an answer, with names of the author's choice marked.

A copy keeps its tokens, but for such names, when lines are broken elsewhere and comments are written.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
import warnings
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass

_LAYOUT = {tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING, tokenize.ENDMARKER}
_MAGIC = re.compile(r"^[ \t]*[%!].*$", re.M)  # IPython's own lines, which are no Python
_UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError, tokenize.TokenError)
_WINDOW = 5  # tokens: shorter sequences are alike by chance
Window = tuple[str, ...]
_Place = tuple[int, int]  # line, from 1, and column in characters


@dataclass(frozen=True)
class Token:
    """A token of an answer's code, or a word of a comment.

    `line` is the index of the line in the answer. `chosen` is true for a name that the answer itself binds.
    """

    text: str
    line: int
    chosen: bool = False


@dataclass(frozen=True)
class AnswerTokens:
    """Tokens of an answer's code, and words of its comments and docstrings."""

    code: Sequence[Token]
    words: Sequence[Token]


def tokens_of(source: str) -> AnswerTokens:
    """Return the tokens of an answer, without layout. If it is not valid Python, its words are its code."""
    plain = "\n".join(lines_of(source))
    for text in (plain, _MAGIC.sub("", plain)):
        try:
            return _tokens_of_python(text)
        except _UNREADABLE:
            continue
    return AnswerTokens(list(_words(re.compile(r"\w+|\S"), plain, 0)), ())


def lines_of(source: str) -> list[str]:
    """Return the lines of an answer as Python counts them.

    `str.splitlines` also ends a line at rare characters.
    """
    return re.split(r"\r\n?|\n", source)


def numbered(tokens: Sequence[Token]) -> list[str]:
    """Return the texts of tokens, with chosen names replaced by their order of appearance."""
    numbers: dict[str, int] = {}
    return [_name(numbers.setdefault(each.text, len(numbers))) if each.chosen else each.text for each in tokens]


def by_recency(tokens: Sequence[Token]) -> list[str]:
    """Return the texts of tokens, with a count in place of each chosen name.

    It is the count of other names since this one came last. One more variable then changes few of the texts. Numbers
    from the top would all change below it.
    """
    recent: list[str] = []  # the last one first
    found = []
    for token in tokens:
        if not token.chosen:
            found.append(token.text)
            continue
        found.append(_name(recent.index(token.text)) if token.text in recent else "a new name")
        recent = [token.text, *(each for each in recent if each != token.text)]
    return found


def windows_of(tokens: Sequence[Token]) -> list[Window]:
    """Return the sequences of `_WINDOW` tokens, in each of which chosen names are numbered anew."""
    return [tuple(numbered(tokens[start : start + _WINDOW])) for start in range(len(tokens) - _WINDOW + 1)]


def places_outside(windows: Sequence[Window], common: Container[Window]) -> list[int]:
    """Return the places of the tokens in those `windows` of an answer that are not `common`."""
    starts = [start for start, window in enumerate(windows) if window not in common]
    return sorted({place for start in starts for place in range(start, start + _WINDOW)})


def _name(number: int) -> str:
    return f"name {number}"  # no token of Python has a space outside of quotation marks


def _tokens_of_python(source: str) -> AnswerTokens:
    """Return the tokens of Python code. Raises one of `_UNREADABLE` if it is none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of escapes such as "\d"
        tree = ast.parse(source)
    # One walk, not four: 7.4 in place of 9.4 s to compare two answers of 40,000 lines.
    nodes, lines = list(ast.walk(tree)), source.split("\n")
    names = set(_bound(nodes))
    named, docstrings = set(_named_arguments(nodes, lines)), set(_docstrings(nodes, lines))
    code, words, before = list[Token](), list[Token](), ""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT or token.start in docstrings:
            words += _words(re.compile(r"\S+"), token.string, token.start[0] - 1)
        elif token.type not in _LAYOUT:
            chosen = token.string in names and before != "." and token.start not in named
            code.append(Token(token.string, token.start[0] - 1, chosen))
            before = token.string
    return AnswerTokens(code, words)


def _words(word: re.Pattern[str], text: str, line: int) -> Iterator[Token]:
    for number, each in enumerate(text.split("\n"), line):
        yield from (Token(found, number) for found in word.findall(each))


def _bound(nodes: Sequence[ast.AST]) -> Iterator[str]:
    """Yield the names that code binds. Methods are left out: torch calls `forward`, and attributes stay as they are."""
    methods = {id(each) for node in nodes if isinstance(node, ast.ClassDef) for each in node.body}
    for node in nodes:
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.arg(arg=name):
                yield name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                if id(node) not in methods:
                    yield name
            case ast.ExceptHandler(name=str(name)) | ast.alias(asname=str(name)):
                yield name
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
                yield name


def _named_arguments(nodes: Sequence[ast.AST], lines: Sequence[str]) -> Iterator[_Place]:
    """Yield the places of names such as `dim` in `x.sum(dim=0)`, which the called function chose."""
    for node in nodes:
        if isinstance(node, ast.keyword) and node.arg:
            yield _place(node.lineno, node.col_offset, lines)


def _docstrings(nodes: Sequence[ast.AST], lines: Sequence[str]) -> Iterator[_Place]:
    """Yield the places of texts that are statements of their own."""
    for node in nodes:
        match node:
            case ast.Expr(value=ast.Constant(value=str(), lineno=line, col_offset=column)):
                yield _place(line, column, lines)


def _place(line: int, offset: int, lines: Sequence[str]) -> _Place:
    """Return the place of a node, whose `offset` counts bytes."""
    return line, len(lines[line - 1].encode()[:offset].decode())
