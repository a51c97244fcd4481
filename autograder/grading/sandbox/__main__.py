"""Entry point of the template process, started by `engine`.

The process isolates itself while it is small, then imports torch and warms up.

python -P -m autograder.grading.sandbox DESCRIPTOR full|none
"""

from __future__ import annotations

import json
import socket
import sys

from .libc import CannotIsolate
from .memory import gc_frozen, use_heap
from .namespaces import isolate_template

control = socket.socket(fileno=int(sys.argv[1]))
isolated = sys.argv[2] == "full"
try:
    if isolated:
        isolate_template()
    use_heap()
    with gc_frozen():
        from .template import Template  # imports torch: after isolation, with the collector off

        template = Template(control, isolated)
except CannotIsolate as refused:
    control.send(json.dumps({"refused": str(refused)}).encode())
    sys.exit(1)
template.serve()
