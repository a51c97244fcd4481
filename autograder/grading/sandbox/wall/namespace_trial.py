"""Entry point of a process that tries whether the kernel allows namespaces.

It does what a fork server and a child do, without torch. Its exit status is 0 if nothing was refused.
"""

from __future__ import annotations

import os

from ...limits import Limits
from .libc import CannotIsolate
from .namespaces import enter_root, isolate_child, isolate_fork_server, new_pid_namespace

try:
    isolate_fork_server()
    enter_root()
    with new_pid_namespace():
        child = os.fork()
    if child == 0:
        isolate_child(Limits())
        os._exit(0)
except (CannotIsolate, OSError):
    os._exit(1)
os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) & 0xFF)
