"""An IPython shell that caches transformed, parsed and compiled cells.

Most cells of a submission are unchanged since the release. Parsing them takes a good part of their run time. The fork
server runs the released cells once. A child then finds the results in the cache.
A cache key consists of the source, the cell's file name (with its number), the transformers and the compiler's flags.
"""

from __future__ import annotations

import ast
import copy
import inspect
import os
from types import CodeType
from typing import Any

from IPython.core.compilerop import CachingCompiler
from traitlets import Type

from .shell import Shell


class Compiler(CachingCompiler):
    """A compiler that caches syntax trees by source, and code by statements.

    A source is the key of its syntax tree, and statements are the key of their compiled code.
    """

    def __init__(self) -> None:
        super().__init__()
        self._trees: dict[tuple[object, ...], ast.AST] = {}
        self._codes: dict[tuple[object, ...], CodeType] = {}

    def ast_parse(self, source: str, filename: str = "<unknown>", symbol: str = "exec") -> ast.AST:
        key = source, filename, symbol, self.flags
        if key not in self._trees:
            self._trees[key] = super().ast_parse(source, filename, symbol)
        return self._trees[key]

    def __call__(self, source: Any, filename: str, symbol: str, **options: Any) -> CodeType:
        if not isinstance(source, (ast.Module, ast.Interactive)):
            return self._compiled(source, filename, symbol, **options)
        # IPython wraps each statement into a separate module.
        key = *source.body, filename, symbol, self.flags
        if key not in self._codes:
            code = self._compiled(source, filename, symbol, **options)
            if key[-1] != self.flags:  # a `from __future__ import` changes the flags, so it must run each time
                return code
            self._codes[key] = code
        return self._codes[key]

    def cache(self, transformed_code: str, number: int = 0, raw_code: str | None = None) -> str:
        name: str = super().cache(transformed_code, number, raw_code)
        # A traceback looks for the module of each frame's file. For an unknown file it looks at every imported module.
        # In a fork this copies their memory pages: the first cell that raises then takes 48 ms instead of 24.
        for path in (name, os.path.abspath(name)):
            inspect.modulesbyfile[path] = "__main__"  # type: ignore[attr-defined]
        return name

    def _compiled(self, *source: Any, **options: Any) -> CodeType:
        code: CodeType = super().__call__(*source, **options)
        return code


class RememberingShell(Shell):
    """A shell that caches transformed cells, and compiles with the class `Compiler`."""

    compiler_class = Type(Compiler)

    def __init__(self, **kwargs: Any) -> None:
        self._transformed: dict[tuple[object, ...], str] = {}
        super().__init__(**kwargs)

    def transform_cell(self, raw_cell: str) -> str:
        ways = self.input_transformer_manager
        key = (
            raw_cell,
            *map(id, (*ways.cleanup_transforms, *ways.line_transforms, *ways.token_transformers)),
            *map(id, self.input_transformers_post),
        )
        if key in self._transformed:
            return self._transformed[key]
        cell: str = super().transform_cell(raw_cell)
        if cell.count("\n") > 1:  # the meaning of a single line depends on the defined names
            self._transformed[key] = cell
        return cell

    def transform_ast(self, node: Any) -> Any:
        return super().transform_ast(copy.deepcopy(node) if self.ast_transformers else node)  # they change it in place
