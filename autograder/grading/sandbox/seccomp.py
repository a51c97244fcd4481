"""A seccomp filter that refuses system calls to student code.

Anonymous files and shared memory are charged to no process, so these would evade the memory limit. Kernel keys belong
to no namespace. A process that clears its parent death signal would survive a killed grader. The filter also refuses
calls that student code never needs.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import struct

from .libc import libc

# By machine (x86_64, aarch64): numbers of the calls, from <asm/unistd.h>. The machines' numbers are from
# <linux/audit.h>.
_CALLS = {
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "shmget": (29, 194),
    "semget": (64, 190),
    "msgget": (68, 186),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "userfaultfd": (323, 282),
    "perf_event_open": (298, 241),
    "bpf": (321, 280),
    "io_uring_setup": (425, 425),
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
}
# Do nothing and report success: a program that asks for more cores keeps its one core and goes on.
_IGNORED = {"sched_setaffinity": (203, 122)}
_MACHINES = {"x86_64": (0, 0xC000003E, 157), "aarch64": (1, 0xC00000B7, 167)}  # column above, machine, prctl
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_NUMBER, _MACHINE, _ARGUMENT = 0, 4, 16  # offsets in struct seccomp_data
_ALLOW, _REFUSE, _IGNORE, _KILL = 0x7FFF0000, 0x00050000 | errno.EPERM, 0x00050000, 0x80000000
_OTHER_TABLE = 0x40000000  # calls of x86's x32 table
_SET_PARENT_DEATH_SIGNAL, _SET_SECCOMP, _FILTER = 1, 22, 2


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


@functools.cache
def program() -> _Program:
    """Return the filter as a BPF program for this machine's processor.

    The fork server calls this function once. Its children inherit the result.
    """
    column, machine, prctl = _MACHINES[os.uname().machine]
    steps = [
        (_LOAD, 0, 0, _MACHINE), (_EQUAL, 1, 0, machine), (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER), (_AT_LEAST, 0, 1, _OTHER_TABLE), (_RETURN, 0, 0, _REFUSE),
    ]  # fmt: skip
    for calls, answer in ((_CALLS, _REFUSE), (_IGNORED, _IGNORE)):
        for each in calls.values():
            steps += [(_EQUAL, 0, 1, each[column]), (_RETURN, 0, 0, answer)]
    steps += [
        (_EQUAL, 0, 3, prctl), (_LOAD, 0, 0, _ARGUMENT),
        (_EQUAL, 0, 1, _SET_PARENT_DEATH_SIGNAL), (_RETURN, 0, 0, _REFUSE),
        (_RETURN, 0, 0, _ALLOW),
    ]  # fmt: skip
    code = b"".join(struct.pack("HBBI", *step) for step in steps)
    return _Program(len(steps), ctypes.cast(ctypes.create_string_buffer(code, len(code)), ctypes.c_char_p))


def refuse() -> int:
    """Install the filter in this process and its descendants, permanently.

    The process must have set no_new_privs. Returns 0, or -1 with ctypes' errno set.
    """
    return int(libc.prctl(_SET_SECCOMP, _FILTER, ctypes.byref(program()), 0, 0))
