"""Attacks on the grader, by what they try."""

from support.attacks import engine, escapes, exhaustion, forged_messages, forged_notebooks, tampering

ALL = [*tampering.ALL, *forged_messages.ALL, *escapes.ALL, *exhaustion.ALL, *forged_notebooks.ALL, *engine.ALL]
