"""Program that draws DOT source in a process of its own.

A crash of Graphviz then does not end the kernel. Each line of stdin is a request in JSON: {"source": DOT, "format":
"svg" or "png", "args": options of Graphviz}. The reply is a line of JSON, {"bytes": n}, followed by n bytes, or
{"error": text}. The program ends when stdin ends, and when a picture takes longer than `SECONDS`: the kernel that asked
for it may have been killed.
"""

from __future__ import annotations

import json
import shlex
import shutil
import signal
import subprocess
import sys

SECONDS = 120  # for one picture; one of 15,000 nodes takes 3


def draw(source: str, format: str, args: str) -> bytes:
    """Draw DOT source and return the file's bytes.

    `format` is "svg" or "png", `args` are options of Graphviz. Uses the libraries in pygraphviz's wheel. If pygraphviz
    is not installed, or the system lacks libraries that the wheel needs, the program `dot` is used.
    Raises ImportError if there is no such program, OSError or SubprocessError if it fails.
    """
    try:
        import pygraphviz  # type: ignore[import-untyped]
    except ImportError:
        if not shutil.which("dot"):
            raise
        command = ["dot", f"-T{format}", *shlex.split(args)]
        return subprocess.run(command, input=source.encode(), capture_output=True, check=True, timeout=SECONDS).stdout
    graph = pygraphviz.AGraph(string=source)
    drawn: bytes = graph.draw(format=format, prog="dot", args=args)
    graph.close()
    return drawn


def main() -> None:
    for line in sys.stdin.buffer:
        image, answer = b"", dict[str, object]()
        try:
            if hasattr(signal, "alarm"):  # not on Windows
                signal.alarm(SECONDS)  # Python gets no turn while Graphviz works: the signal ends the process
            image = draw(**json.loads(line))
            answer["bytes"] = len(image)
        except Exception as error:  # for any error, the kernel shows text instead
            answer["error"] = f"{type(error).__name__}: {error}"
        sys.stdout.buffer.write(json.dumps(answer).encode() + b"\n" + image)
        sys.stdout.buffer.flush()
        if hasattr(signal, "alarm"):
            signal.alarm(0)


if __name__ == "__main__":
    main()
