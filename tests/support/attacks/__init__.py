"""Attacks on the grader, by what they try."""

from support.attacks import engine, escapes, exhaustion, forged_messages, forged_notebooks, neighbours, tampering

ALL = [
    *tampering.ALL,
    *forged_messages.ALL,
    *escapes.ALL,
    *exhaustion.ALL,
    *forged_notebooks.ALL,
    *engine.ALL,
    *neighbours.ALL,
]
# Those against which the walls differ: what is done inside one process is the same behind both.
ON_WALLS = [*escapes.ALL, *exhaustion.FLOODS, *engine.THREADS, *neighbours.ALL]
