"""Observation of an answer: runs of the probe, returned as plain data.

An observation is made in the process that runs the answer. The answer's side effects are undone. Nothing is judged
here, because only `judge` knows the expected results.
"""

from __future__ import annotations

import hashlib
import inspect
import signal
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import torch

from ..language import Note
from .containment import timeout_causes as overlong
from .containment.caught import Spot, explained, functions_of, learners_line, message_of, places_of, spots_in
from .containment.deadline import Deadline
from .containment.edits import copy_tensors, find_edited
from .containment.garbage import rare_full_collections
from .containment.nested_passes import MOST, PassesWithoutEnd
from .containment.refused import Refused
from .containment.surroundings import undisturbed
from .containment.switches import as_in_a_fresh_process
from .containment.tensor_overrides import find_replaced
from .containment.thread_starts import StartedThread
from .containment.time_limit import TimeIsUp, limited
from .counting.allocations import ProfilerInterfered
from .counting.own_operators import CalledOwnOperator
from .devices.device_run import DEVICE, is_about_devices, is_refusal, observe_device
from .devices.place import Place
from .exercise import Case, Exercise
from .run import Raised, Run
from .values import canonical


class AnswerRaised(Exception):
    """An exception raised by the learner's function when the probe called it.

    The original exception is its `__cause__`.
    """


class CannotBeUsed(AnswerRaised):
    """An error in using a value returned by the learner's function.

    The value is not what the exercise asks for. The original exception is its `__cause__`.
    """


class WrongArguments(Exception):
    """A call that does not fit the signature of the learner's function.

    The arguments are the error's text and the number of arguments of the call.
    """


class ReplacedName(Exception):
    """A tensor from the learner that overrides an attribute of `torch.Tensor`.

    The argument is the name of the attribute.
    """


def observe(exercise: Exercise, answer: object, seed: str, place: Place | None = None) -> list[Run]:
    """Run an exercise's probe on every case of `seed`, and return one observation per case.

    `answer` is the object that the learner has named `exercise.asks`. The cases lie on the device `place`, or on the
    CPU if it is None. The time limit is that of all cases together. After a case that exceeds it, later cases are not
    run and get the observation of that case. Raises nothing except KeyboardInterrupt when the user presses Ctrl+C.
    """
    with as_in_a_fresh_process() as unusual:
        return observe_in_order(exercise, answer, seed, unusual, place)


def observe_in_order(
    exercise: Exercise, answer: object, seed: str, unusual: list[Note], place: Place | None = None
) -> list[Run]:
    """Do the work of `observe` inside a `with as_in_a_fresh_process()` block.

    `unusual` is the list of notes that this context manager yields.
    """
    runs: list[Run] = []
    signature = _signature(answer)
    cases = exercise.draw(seed)
    copies, deadline = [copy_tensors(case) for case in cases], Deadline(exercise.seconds)
    for case, before in zip(cases, copies):
        endless = runs and runs[-1].raised and runs[-1].raised.id in overlong.ENDLESS_IDS
        run = (
            runs[-1] if endless else _observe_case(exercise, answer, signature, case, before, unusual, place, deadline)
        )
        runs.append(run)
    if is_about_devices(exercise) and not any(run.raised for run in runs):
        found = observe_device(exercise, answer, seed, deadline)
        there, caught = canonical(found), spots_in({DEVICE: found}, answer)
        runs = [replace(run, values={**run.values, DEVICE: there}, caught={**run.caught, **caught}) for run in runs]
    return runs


def _observe_case(
    exercise: Exercise,
    answer: object,
    signature: inspect.Signature | None,
    case: Case,
    before: dict[str, list[torch.Tensor]],
    unusual: list[Note],
    place: Place | None,
    deadline: Deadline,
) -> Run:
    """Observe the answer on one case.

    `signature` is the answer's. `before` holds copies of the case's tensors, with which changed inputs are detected.
    `unusual` are notes that the observation includes. `deadline` is that of all cases together.
    """
    shown, notes = _shown(exercise, signature, case), list(unusual)
    inputs = case.shown(shown)
    passed = signature is not None and shown and [*signature.parameters][: len(shown)] == shown  # else the probe calls
    call = f"{exercise.asks}({', '.join(f'case.{name}' for name in shown)})" if passed else ""
    values: dict[str, Any] = {}
    caught: dict[str, Spot] = {}
    raised: Raised | None = None
    held = overlong.resident()
    with undisturbed(notes):
        try:
            with limited(deadline), rare_full_collections(), place.holding(case) if place else nullcontext():
                found = exercise.probe(SimpleNamespace(**{exercise.asks: _marking(answer, signature)}), case)
                _refuse_replaced(found, case)
            values = {str(name): canonical(value) for name, value in found.items()}
            caught = spots_in(found, answer)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt) and signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
                raise  # the user pressed Ctrl+C
            raised = _explain(error, answer, exercise)
            held = overlong.resident() - held
        edited = () if place else tuple(find_edited(case, before))
    if raised and raised.id == "raised.arguments":
        call = ""  # it shows as many arguments as the answer takes
    if raised and raised.id == "raised.time":  # a setting may still be changed because the probe was interrupted
        why = overlong.reason(raised.parameters, notes, held)
        raised = replace(raised, id=why.id, parameters=why.parameters)
        notes = [note for note in notes if not note.id.startswith("note.left.")]
    return Run(values, raised, call, inputs, tuple(notes), edited, caught)


def _signature(answer: object) -> inspect.Signature | None:
    """Return the signature of a learner's function; None for a class, a table, and a builtin without one."""
    if not callable(answer) or isinstance(answer, type):
        return None
    try:
        return inspect.signature(answer)
    except (TypeError, ValueError):
        return None


def _shown(exercise: Exercise, signature: inspect.Signature | None, case: Case) -> list[str]:
    """Return the names of the case's inputs that a card shows: those that are passed to the answer.

    All other inputs are for the probe only. If the answer is a class, nobody knows which inputs it gets: all are shown
    but bools and generators, which are the probe's.
    """
    names = list(vars(case))
    if exercise.asks_for == "class":
        return [name for name in names if not isinstance(vars(case)[name], (bool, torch.Generator))]
    parameters = signature.parameters.values() if signature else ()
    if parameters and not any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters):
        return names[: len(parameters)]
    return names


def code_digest(answer: object) -> str | None:
    """Return a hash of an answer's source without comments and white space.

    Returns None if no source is available. For a class the source of its methods is hashed, because a notebook keeps no
    source of the class itself.
    """
    try:
        source = "\n".join(inspect.getsource(function) for function in functions_of(answer))
    except OSError:
        return None
    if not source:
        return None
    bare = "".join("".join(line.partition("#")[0].split()) for line in source.splitlines())
    return hashlib.sha256(bare.encode()).hexdigest()[:12]


def _marking(answer: object, signature: inspect.Signature | None) -> object:
    """Return a wrapper of the learner's function that raises errors in a form that the probe recognises.

    The wrapper raises AnswerRaised, WrongArguments or ReplacedName. If `answer` is a class or a table, it is returned
    unchanged.
    """
    if not callable(answer) or isinstance(answer, type):
        return answer
    function: Callable[..., object] = answer

    def call(*args: object, **kwargs: object) -> object:
        try:
            if signature:  # without one the call itself raises
                signature.bind(*args, **kwargs)
        except TypeError as error:
            raise WrongArguments(str(error), len(args) + len(kwargs)) from None
        try:
            returned = function(*args, **kwargs)
        except (Exception, SystemExit) as error:
            raise AnswerRaised from error
        _refuse_replaced(returned, args, kwargs)
        return returned

    call.__wrapped__ = function  # type: ignore[attr-defined]  # for probes that watch each access to a tensor
    return call


def _refuse_replaced(*values: object) -> None:
    """Raise ReplacedName if a tensor in `values` overrides an attribute of `torch.Tensor`.

    A probe cannot trust such a tensor.
    """
    name = find_replaced(*values)
    if name is not None:
        raise ReplacedName(name)


def unmarked(function: Any) -> Callable[..., Any]:
    """Return the learner's function without the wrapper that marks errors.

    The wrapper also looks at tensors, which a probe could take for an access of the learner's code.
    """
    inner: Callable[..., Any] = function.__wrapped__
    return inner


@contextmanager
def using_answer() -> Iterator[None]:
    """Turn exceptions in the `with` block into CannotBeUsed.

    A probe uses this context manager around code that works with a value returned by the learner's function.
    """
    try:
        yield
    except (AnswerRaised, WrongArguments, ReplacedName):
        raise
    except Exception as error:
        raise CannotBeUsed from error


_INTERFERED = {
    ProfilerInterfered: "raised.profiler",
    StartedThread: "raised.threads",
    CalledOwnOperator: "raised.operators",
}


def _explain(error: BaseException, answer: object, exercise: Exercise) -> Raised:
    if isinstance(error, WrongArguments):
        message, count = error.args
        return Raised("answer", "raised.arguments", {"name": exercise.asks, "message": message, "count": count})
    if isinstance(error, ReplacedName):
        return Raised("answer", "raised.replaced", {"name": str(error)})
    for interfered, id in _INTERFERED.items():
        if isinstance(error, interfered) or isinstance(error.__cause__, interfered):
            return Raised("answer", id, {})
    if isinstance(error, PassesWithoutEnd):
        return Raised("answer", "raised.passes", {"count": MOST})
    if isinstance(error, TimeIsUp):
        return Raised("answer", "raised.time", {"seconds": f"{exercise.seconds:g}"})
    marked = error.__cause__ if isinstance(error, AnswerRaised) else None
    cause = error if marked is None else marked
    kind, said = type(cause).__name__, message_of(cause)
    line, code = learners_line(places_of(cause), answer)
    if isinstance(cause, Refused):
        return Raised("answer", cause.note.id, cause.note.parameters, Spot(line, code))
    mixture = is_refusal(f"{kind}: {said}")  # what came back lies on another device than the case
    if marked is None and line is None and not mixture:
        where = traceback.extract_tb(cause.__traceback__)[-1].name
        return Raised("ours", "fault.probe", {"exercise": exercise.name, "error": f"{kind}: {said}, {where}"})
    spot = Spot(line, code, explained(cause))
    if isinstance(cause, (SystemExit, GeneratorExit, KeyboardInterrupt)):
        return Raised("answer", "raised.exit", {"type": kind}, spot)
    if line is None and exercise.asks_for == "class":
        return Raised("answer", "raised.used", {"name": exercise.asks, "type": kind, "message": said}, spot)
    in_use = marked is None or isinstance(error, CannotBeUsed)
    id = "raised.returned" if in_use and line is None else "raised.answer"
    return Raised("answer", id, {"type": kind, "message": said}, spot)
