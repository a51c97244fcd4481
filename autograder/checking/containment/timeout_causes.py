"""Causes of an exceeded time limit: endless output, used memory, or another."""

from __future__ import annotations

from mmap import PAGESIZE

from ...language import Note

IDS = ("raised.time", "raised.flood", "raised.memory")
ENDLESS_IDS = (*IDS, "raised.passes")  # passes inside passes are stopped by their number, not by the time
_FLOOD, _HOG = 1_000_000, 1 << 30  # printed characters and taken bytes from which the card names them as the cause


def resident() -> int:
    """Return the resident memory of this process in bytes.

    Returns 0 where the system does not report it (not Linux).
    """
    try:
        with open("/proc/self/statm", "rb", buffering=0) as file:  # before each case: half of what `read_text` takes
            return int(file.read().split()[1]) * PAGESIZE
    except OSError:
        return 0


def reason(parameters: dict[str, object], notes: list[Note], taken: int) -> Note:
    """Return the note that explains a run that exceeded its time limit.

    `parameters` are the returned note's parameters, `notes` the notes of the run. `taken` is the number of bytes by
    which the run increased the process's memory.
    """
    printed = sum(int(str(note.parameters["count"])) for note in notes if note.id == "note.printed")
    if printed >= _FLOOD:
        return Note("raised.flood", {**parameters, "count": printed})
    if taken >= _HOG:
        return Note("raised.memory", {**parameters, "size": f"{taken / 2**30:.1f}"})
    return Note("raised.time", parameters)
