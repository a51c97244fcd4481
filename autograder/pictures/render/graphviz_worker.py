"""The worker process that draws DOT, isolating the kernel from Graphviz crashes.

It reads requests from stdin, one JSON line each: {"source": DOT, "format": "svg" or "png", "args": for `dot`}. It
answers each with a JSON line: {"bytes": n}, followed by n bytes, or {"error": why}. It exits at the end of stdin.
"""

from __future__ import annotations

import json
import sys


def draw(source: str, format: str, args: str) -> bytes:
    """Lay out and draw DOT with the libraries in pygraphviz's wheel; no `dot` program is needed."""
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
        except Exception as error:  # for any error, the kernel shows text instead
            answer["error"] = f"{type(error).__name__}: {error}"
        sys.stdout.buffer.write(json.dumps(answer).encode() + b"\n" + image)
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
