"""The template's process, as `engine` starts it: put apart from the machine while it is small, then warmed.

python -P -m autograder.grading.isolated DESCRIPTOR full|none
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
        from .template import Template  # torch and all the rest: in the process that is the template from now on

        template = Template(control, isolated)
except CannotIsolate as refused:
    control.send(json.dumps({"refused": str(refused)}).encode())
    sys.exit(1)
template.serve()
