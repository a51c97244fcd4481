"""Entry point of the fork server's process, which `ForkServerProcess` starts.

The process isolates itself while it is small. Then it imports torch and warms up. DESCRIPTOR is the number of the file
descriptor of the socket to the engine. `full` switches isolation on, `none` off.

python -P -m autograder.grading.sandbox DESCRIPTOR full|none
"""

from __future__ import annotations

import json
import socket
import sys

from .garbage import gc_frozen
from .libc import CannotIsolate
from .namespaces import isolate_fork_server

control = socket.socket(fileno=int(sys.argv[1]))
isolated = sys.argv[2] == "full"
try:
    if isolated:
        isolate_fork_server()
    with gc_frozen():
        from .fork_server import ForkServer  # imports torch: after isolation, with the collector off

        server = ForkServer(control, isolated)
except CannotIsolate as refused:
    control.send(json.dumps({"refused": str(refused)}).encode())
    sys.exit(1)
server.serve()
