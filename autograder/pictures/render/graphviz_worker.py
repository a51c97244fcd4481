"""The program beside a kernel that draws DOT: what crashes here, as Graphviz may, costs nobody a kernel.

It reads requests from its input, a JSON line each, {"source": DOT, "format": "svg" or "png", "args": for `dot`}, and
answers each with a JSON line: {"bytes": n}, followed by n bytes, or {"error": why}. It ends when its input does.
"""

from __future__ import annotations

import json
import sys


def draw(source: str, format: str, args: str) -> bytes:
    """DOT laid out and drawn by the libraries inside pygraphviz's wheel; no `dot` program is needed."""
    import pygraphviz  # type: ignore[import-untyped]

    graph = pygraphviz.AGraph(string=source)
    drawn: bytes = graph.draw(format=format, prog="dot", args=args)
    graph.close()
    return drawn


def main() -> None:
    for line in sys.stdin.buffer:
        image, answer = b"", dict[str, object]()
        try:
            image = draw(**json.loads(line))
            answer["bytes"] = len(image)
        except Exception as error:  # whatever it is, the kernel shows text instead
            answer["error"] = f"{type(error).__name__}: {error}"
        sys.stdout.buffer.write(json.dumps(answer).encode() + b"\n" + image)
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
