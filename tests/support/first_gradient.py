"""The shortest lesson of the course, as tests of grading hand it in."""

from __future__ import annotations

from autograder.lessons.collection import COURSE
from autograder.lessons.source import solutions

(LESSON,) = COURSE.read(["first_gradient"])
NAME = LESSON.file_name
EXERCISES = COURSE.exercises(LESSON)
SOLVED = {name: solutions(exercise)[0] for name, exercise in EXERCISES.items()}
TOTAL = sum(exercise.points for exercise in EXERCISES.values() if exercise.core)

FIRST = next(exercise for exercise in EXERCISES.values() if exercise.asks_for == "function")
CHECK = f"check-{FIRST.name}"
WRONG = f"def {FIRST.asks}(*arguments):\n    return None"
TAMPERS = f"{SOLVED[FIRST.name]}\nimport math\nmath.isclose = lambda *arguments: True"
REPLACED = f"{FIRST.name}: replaced or left on: math.isclose"  # what is said of TAMPERS
