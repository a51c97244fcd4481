"""Entry point of the fork server's process, which `ForkServerProcess` starts.

While it is small, the process isolates itself if WALL is `full`. Then it imports torch and warms up. DESCRIPTOR is the
number of the file descriptor of the socket to the engine. WALL is the wall around the children.

python -P -m autograder.grading.sandbox.server DESCRIPTOR WALL
"""

from __future__ import annotations

import json
import socket
import sys

from ...wall_kinds import Wall
from ..wall.libc import CannotIsolate
from ..wall.namespaces import isolate_fork_server
from .garbage import gc_frozen

control = socket.socket(fileno=int(sys.argv[1]))
wall = Wall(sys.argv[2])
try:
    if wall == Wall.FULL:
        isolate_fork_server()
    with gc_frozen():
        from .fork_server import ForkServer  # imports torch: after isolation, with the collector off

        server = ForkServer(control, wall)
except CannotIsolate as refused:
    control.send(json.dumps({"refused": str(refused)}).encode())
    sys.exit(1)
server.serve()
