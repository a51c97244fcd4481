"""IPython's compiler with a memory: a cell that was rehearsed is neither parsed nor compiled again in any child.

Most cells of a submission are as they were released, and parsing takes about as long as running them. What is
remembered depends on nothing but the source, the name of the cell (which holds its number) and the compiler's flags.
"""

from __future__ import annotations

import ast
from types import CodeType
from typing import Any

from IPython.core.compilerop import CachingCompiler


class Compiler(CachingCompiler):
    """Gives the same tree for the same source, and the same code for a statement of such a tree."""

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
        # IPython puts one statement after another into a module of its own.
        key = *source.body, filename, symbol, self.flags
        if key not in self._codes:
            code = self._compiled(source, filename, symbol, **options)
            if key[-1] != self.flags:  # a `from __future__ import`, which is to be noticed each time
                return code
            self._codes[key] = code
        return self._codes[key]

    def _compiled(self, *source: Any, **options: Any) -> CodeType:
        code: CodeType = super().__call__(*source, **options)
        return code
