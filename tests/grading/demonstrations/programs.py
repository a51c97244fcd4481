"""Random notebooks of cells that share names, objects and functions."""

from __future__ import annotations

import random
from collections.abc import Sequence

NAMES = "abcd"
FUNCTIONS = "fgh"


def statement(rng: random.Random) -> str:
    """Return one statement: it binds, changes, hides, shows or uses a name."""
    one, other, function = rng.choice(NAMES), rng.choice(NAMES), rng.choice(FUNCTIONS)
    number = rng.randrange(5)
    return rng.choice(
        [
            f"{one} = [{number}]",
            f"{one} = [{number}]",
            f"{one} = {other}",
            f"{one} = {other} + [{number}]",
            f"{one}.append({number})",
            f"{one}[0] = {number}",
            f"{one} += [{number}]",
            f"print({one}, {other})",
            f"for {one} in ([1], [{number}]):\n    {other} = {one}\n    {other}.append({number})",
            f"if len({one}) > {number}:\n    {other} = {one}\nelse:\n    {one} = [0]",
            f"with keep({one}) as {other}:\n    {other}.append({number})",
            f"try:\n    {one} = {other}[{number}:]\nexcept NameError as error:\n    {one} = [9]",
            f"try:\n    print({one}[5])\nexcept IndexError as {other}:\n    print({other})\nelse:\n    {one} = [8]",
            f"match {one}:\n    case [{other}_, *{other}]:\n        pass",
            f"def {function}(x):\n    x.append({number})\n    return x",
            f"def {function}(x):\n    {one}.append({number})\n    return {one} + x",
            f"def {function}(x, kept=[]):\n    kept.append({number})\n    return kept",
            f"def {function}(x):\n    global {one}\n    {one} = x + [{number}]\n    return {one}",
            f"class {function}(list):\n    seen = []\n    def __init__(self, x):\n        super().__init__(x)\n"
            f"        self.seen.append({number})",
            f"class {function}(list):\n    count = {number}\n    def __init__(self, x):\n        super().__init__(x)\n"
            f"        type(self).count += 1\n    def __repr__(self):\n        return str(self.count)",
            f"{one} = {function}({other})",
            f"print({function}({one}))",
            f"{one} = [{other}, {other}]",
            f"{one} = [{other} for {other} in [[1], [{number}]]]",
            f"{one} = (lambda: {other} + [{number}])()",
            f"{function} = lambda x: {one}",
            f"del {one}",
            "from contextlib import nullcontext as keep",
            f"from contextlib import {rng.choice(['closing', 'suppress'])} as keep",
            f"from collections import {rng.choice(['deque', 'OrderedDict'])} as {function}",
            f"print(sorted([{one}, {other}], key=len), [({other} := {one}) for _ in range(2)])",
            f"{function}.note = getattr({function}, 'note', 0) + 1",
            f"print(getattr({function}, 'note', 0))",
            f"exec('{one} = [{number}]; {other}.append({number})', {{'{other}': {other}}})",
            f"exec('{function}.note = {number}', {{'{function}': {function}}})",
            f"print(eval('{function}({one})', {{'{function}': {function}, '{one}': {one}}}))",
            f"def {function}(x):\n    names = {{'x': x, '{one}': {one}}}\n"
            f"    exec('{one}.append({number}); {other} = {one} + x', names)\n    return names['{other}']",
        ]
    )


def cell(rng: random.Random) -> str:
    return "\n".join(statement(rng) for _ in range(rng.randint(1, 4)))


def notebook(rng: random.Random) -> list[str]:
    """Return the cells of a notebook. The first defines what all use."""
    first = (
        "import contextlib\nfrom contextlib import nullcontext as keep\n"
        "a, b, c, d = [1], [2], [3], [4]\ndef f(x):\n    return x\ng = h = f"
    )
    return [first, *(cell(rng) for _ in range(rng.randint(4, 12)))]


def handed_in(rng: random.Random, released: Sequence[str]) -> list[str]:
    """Return a notebook as a student leaves it: cells changed, added, deleted and moved."""
    cells = [*released]
    for _ in range(rng.randint(1, 3)):
        place = rng.randrange(1, len(cells))
        match rng.randrange(4):
            case 0:
                cells[place] = cell(rng)
            case 1:
                cells.insert(place, cell(rng))
            case 2 if len(cells) > 2:
                del cells[place]
            case _:
                cells.insert(rng.randrange(1, len(cells)), cells.pop(place))
    return cells
