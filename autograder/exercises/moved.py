"""Exercises that moved to another lesson.

Older histories and notebooks name the former one.
"""

from __future__ import annotations

_MOVED = {
    "capstones": {
        "four_rules": "graph_and_backward",
        "walk_nodes": "graph_and_backward",
        "unbroadcast": "gradient_accumulation",
        "hooks_and_freeing": "gradient_hooks",
    },
    "engine": dict.fromkeys(("one_graph", "predict_compiled"), "compiled_code"),
}


def lesson_today(lesson: str, exercise: str) -> str:
    """Return the lesson of an exercise that once was in `lesson`."""
    return moved_from(lesson).get(exercise, lesson)


def moved_from(lesson: str) -> dict[str, str]:
    """Return a dict from the name of each exercise that left `lesson` to the lesson where it is today."""
    return _MOVED.get(lesson, {})
