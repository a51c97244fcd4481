"""Seccomp filters, one for each wall, that refuse system calls.

Anonymous files and shared memory are charged to no process, so these would evade the memory limit. Kernel keys belong
to no namespace. A process that clears its parent death signal would survive a killed grader. The filters also refuse
calls that student code never needs. The filter of the wall without namespaces refuses new processes and sockets, too.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import functools
import os
import signal
import socket
import struct
from collections.abc import Sequence

from ...wall_kinds import Wall
from . import system_calls as calls
from .libc import libc

_MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}  # column in the tables, machine in <linux/audit.h>
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _AND, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
_NUMBER, _MACHINE, _ARGUMENTS = 0, 4, (16, 24)  # offsets in struct seccomp_data
_ERROR = 0x00050000
_ALLOW, _REFUSE, _IGNORE, _KILL = 0x7FFF0000, _ERROR | errno.EPERM, _ERROR, 0x80000000
_MISSING = _ERROR | errno.ENOSYS
_OTHER_TABLE = 0x40000000  # calls of x86's x32 table
_SET_PARENT_DEATH_SIGNAL, _SET_SECCOMP, _FILTER = 1, 22, 2
_CLONE_THREAD, _SOCKET_TYPE, _SOCK_STREAM = 0x00010000, 0xF, 1
# Families whose sockets a network namespace holds. Others, such as AF_VSOCK, lead to the host of a virtual machine.
_FAMILIES = (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK)
_LOCKS = (fcntl.F_SETLK, fcntl.F_SETLKW, fcntl.F_OFD_SETLK, fcntl.F_OFD_SETLKW)
_LEASES = (fcntl.F_SETLEASE, fcntl.F_NOTIFY)  # let a process know, or hold up, who opens a file

_Step = tuple[int, int, int, int]  # code, steps to skip if true, if false, operand


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


@functools.cache
def program(wall: Wall) -> _Program:
    """Return the filter of a wall as a BPF program for this machine's processor.

    The fork server calls this function once. Its children inherit the result.
    """
    column, machine = _MACHINES[os.uname().machine]
    steps: list[_Step] = [
        (_LOAD, 0, 0, _MACHINE), (_EQUAL, 1, 0, machine), (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER), (_AT_LEAST, 0, 1, _OTHER_TABLE), (_RETURN, 0, 0, _REFUSE),
    ]  # fmt: skip
    refused = calls.REFUSED | (calls.REFUSED_WITHOUT_NAMESPACES if wall == Wall.LANDLOCK else {})
    for table, answer in ((refused, _REFUSE), (calls.IGNORED, _IGNORE)):
        for number in (each[column] for each in table.values()):
            if number is not None:
                steps += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, answer)]
    steps += _when(calls.PRCTL[column], 0, (_EQUAL, 0, 1, _SET_PARENT_DEATH_SIGNAL), (_RETURN, 0, 0, _REFUSE))
    steps += _when(calls.FCNTL[column], 1, *_answer(_LOCKS, _IGNORE), *_answer(_LEASES, _REFUSE))
    if wall == Wall.FULL:
        named: list[_Step] = [(_EQUAL, len(_FAMILIES) - at, 0, family) for at, family in enumerate(_FAMILIES)]
        steps += _when(calls.SOCKET[column], 0, *named, (_RETURN, 0, 0, _REFUSE))
    if wall == Wall.LANDLOCK:
        steps += [(_EQUAL, 0, 1, calls.CLONE3[column]), (_RETURN, 0, 0, _MISSING)]  # the C library takes `clone` then
        steps += _when(calls.CLONE[column], 0, (_ANY_BIT, 1, 0, _CLONE_THREAD), (_RETURN, 0, 0, _REFUSE))
        steps += _when(calls.PRLIMIT[column], 0, (_EQUAL, 1, 0, 0), (_RETURN, 0, 0, _REFUSE))  # of other processes
        # Colab users restart their kernel so. Behind the other wall the kernel ignores it, too.
        steps += _when(calls.KILL[column], 1, *_answer((signal.SIGKILL,), _IGNORE))
        # Sockets of other kinds send to addresses.
        stream = (_AND, 0, 0, _SOCKET_TYPE), (_EQUAL, 1, 0, _SOCK_STREAM)
        steps += _when(calls.SOCKETPAIR[column], 1, *stream, (_RETURN, 0, 0, _REFUSE))
    steps.append((_RETURN, 0, 0, _ALLOW))
    code = b"".join(struct.pack("HBBI", *step) for step in steps)
    return _Program(len(steps), ctypes.cast(ctypes.create_string_buffer(code, len(code)), ctypes.c_char_p))


def _answer(values: Sequence[int], answer: int) -> list[_Step]:
    """Return steps that end with `answer` if the loaded argument is one of `values`."""
    return [step for value in values for step in ((_EQUAL, 0, 1, value), (_RETURN, 0, 0, answer))]


def _when(number: int, argument: int, *steps: _Step) -> list[_Step]:
    """Return the steps for the system call `number`: load the low half of one argument, then run `steps`.

    If `steps` end without a decision, the call is allowed. `argument` is the argument's index.
    """
    body = [(_LOAD, 0, 0, _ARGUMENTS[argument]), *steps, (_RETURN, 0, 0, _ALLOW)]
    return [(_EQUAL, 0, len(body), number), *body]


def refuse(wall: Wall) -> int:
    """Let the kernel refuse the system calls that a wall forbids, in this process and its descendants, permanently.

    The process must have set no_new_privs. Returns 0, or -1 with ctypes' errno set.
    """
    return int(libc.prctl(_SET_SECCOMP, _FILTER, ctypes.byref(program(wall)), 0, 0))
