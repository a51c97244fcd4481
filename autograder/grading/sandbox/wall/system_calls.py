"""Numbers of the system calls that the seccomp filters refuse.

For each call: its number on x86_64 and on aarch64, from <asm/unistd.h>. A call that a machine lacks has None.
"""

from __future__ import annotations

Calls = dict[str, tuple[int | None, int | None]]

# Behind both walls.
REFUSED: Calls = {
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
# Do nothing and report success: a program that asks for more cores keeps its one core and goes on. Nobody waits for the
# machine's disks. Locks on the packages' files, which all submissions see, would be a mailbox.
IGNORED: Calls = {
    "sched_setaffinity": (203, 122),
    "sync": (162, 81),
    "syncfs": (306, 267),
    "flock": (73, 32),
}

# Without namespaces the machine's processes, files, sockets and IPC objects have names. Landlock does not cover these
# calls, or only in part.
REFUSED_WITHOUT_NAMESPACES: Calls = {
    # New processes: without a process namespace, nothing would end them.
    "fork": (57, None),
    "vfork": (58, None),
    "execve": (59, 221),
    "execveat": (322, 281),
    # New sockets. One of `socketpair` cannot be connected anew.
    "socket": (41, 198),
    "connect": (42, 203),
    "bind": (49, 200),
    "listen": (50, 201),
    # Owner, mode, times and attributes of a file, which Landlock leaves to the file's owner: often the grader's user.
    "chmod": (90, None),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "chown": (92, None),
    "fchown": (93, 55),
    "lchown": (94, None),
    "fchownat": (260, 54),
    "setxattr": (188, 5),
    "lsetxattr": (189, 6),
    "fsetxattr": (190, 7),
    "setxattrat": (463, 463),
    "removexattr": (197, 14),
    "lremovexattr": (198, 15),
    "fremovexattr": (199, 16),
    "removexattrat": (466, 466),
    "file_setattr": (469, 469),
    "utime": (132, None),
    "utimes": (235, None),
    "futimesat": (261, None),
    "utimensat": (280, 88),
    # Names of files that others make.
    "inotify_add_watch": (254, 27),
    "fanotify_init": (300, 262),
    # Objects of System V and POSIX that other processes have made.
    "shmat": (30, 196),
    "shmctl": (31, 195),
    "semop": (65, 193),
    "semctl": (66, 191),
    "semtimedop": (220, 192),
    "msgsnd": (69, 189),
    "msgrcv": (70, 188),
    "msgctl": (71, 187),
    "mq_open": (240, 180),
    "mq_unlink": (241, 181),
    # Priorities and memory of other processes of the same user.
    "setpriority": (141, 140),
    "ioprio_set": (251, 30),
    "sched_setparam": (142, 118),
    "sched_setscheduler": (144, 119),
    "sched_setattr": (314, 274),
    "migrate_pages": (256, 238),
    "move_pages": (279, 239),
    "process_madvise": (440, 440),
    "process_mrelease": (448, 448),
    "pidfd_getfd": (438, 438),
    "kcmp": (312, 272),
    "syslog": (103, 116),
    # Other users: the grader's root may be the same, without its capabilities.
    "setuid": (105, 146),
    "setgid": (106, 144),
    "setreuid": (113, 145),
    "setregid": (114, 143),
    "setresuid": (117, 147),
    "setresgid": (119, 149),
    "setgroups": (116, 159),
}
# Judged by their arguments.
SOCKET = (41, 198)
FCNTL = (72, 25)
PRCTL = (157, 167)
PRLIMIT = (302, 261)
SOCKETPAIR = (53, 199)
KILL = (62, 129)
CLONE = (56, 220)
CLONE3 = (435, 435)
