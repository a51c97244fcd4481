"""The worker, which runs a student's cells and probes in a child.

Cells run in IPython. The probe of an exercise runs when the exercise's check is reached. The worker makes no verdict.
Requests and answers are plain data, sent over a `Channel`.
"""

from __future__ import annotations

import base64
import contextlib
import gc
import importlib
import os
import sys
import tempfile
import traceback
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import torch

from .... import exercises
from ....checking.containment.caught import functions_of
from ....checking.containment.deadline import Deadline
from ....checking.containment.switches import as_in_a_fresh_process
from ....checking.containment.time_limit import TimeIsUp, limited
from ....checking.counting import weighing
from ....checking.exercise import Exercise
from ....checking.judge import screen
from ....checking.observe import code_digest, observe_in_order
from ....checking.run import Run
from ....exercises.module_texts import defined_in, modules_of
from ....exercises.moved import moved_from
from ....messages.learners import message
from ...demonstrations.needless_cells import Demonstrations
from ...limits import Limits
from ..wire.channel import LARGEST_ANSWER, Channel, Closed, Malformed, bind_methods
from ..wire.run_codec import pack_run
from ..wire.wire_messages import ChildReply
from .code_watch import CodeWatch, file_of
from .file_growth import no_file_grows
from .guard import Guard, LessonModules
from .shell import Shell, Stream
from .stand_ins import StandIns
from .threads import OtherThreads

# Prefixes of the course's files. Exercises' modules are executed from text, under names like the last two.
_OURS = (f"{Path(__file__).parents[3]}{os.sep}", "<autograder.exercises.", "<private_exercises.")
_COMPILED = (".pyc", ".pyo", ".so", ".pyd", ".pth")
_TRIES = 3  # attempts at an observation while another thread runs


def _fault() -> str:
    """Return the last lines of the current exception's traceback as text."""
    try:
        return traceback.format_exc(limit=-4)[-2000:]
    except BaseException:
        return "an exception that cannot be shown"


def _put(files: dict[str, str]) -> None:
    """Write files into the current folder. `files` maps relative paths to contents in base64."""
    for name, data in files.items():
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(data))


def _modules_among(files: Iterable[str], lesson: str) -> dict[str, str]:
    """Return a dict from path to module name, for the modules of a private lesson's exercises.

    `files` are the relative paths of an assignment's files. The module name is empty for the package's `__init__.py`.
    The dict is empty if the lesson is not private.
    """
    package = f"exercises/{lesson}/"
    own = [path for path in files if path.startswith(package) and path.endswith(".py")]
    return {path: "" if path == f"{package}__init__.py" else Path(path).stem for path in own}


def serve(
    channel: Channel,
    shell: Shell,
    guard: Guard,
    limits: Limits,
    modules: LessonModules,
    paths: dict[str, str],
    demonstrations: Demonstrations,
    stand_ins: StandIns,
) -> None:
    """Answer the grader's requests in a child until the grader closes the channel. Then end the child.

    `paths` are the names that released cells bind to other people's objects.
    """
    torch.set_num_threads(1)
    watch = CodeWatch(paths)
    worker, me = Worker(shell, guard, limits, modules, watch, demonstrations), os.getpid()
    try:
        channel.agree(channel.receive()["key"])
        watch.tell = lambda places: channel.send({"noticed": places})
        shell.watch_code(watch)
        guard.watch(watch)
        while True:
            asked = channel.receive()
            try:
                answer: ChildReply = getattr(worker, f"do_{asked.pop('do')}")(**asked)
            except BaseException:  # a bug of the grader, or broken by the submission: the two cannot be told apart
                answer = {"fault": _fault()}
            if os.getpid() != me:  # a fork that the submission made of this process
                break
            watch.tell_all()
            answer["refused"], answer["stood_in"] = guard.refused[:20], stand_ins.used[:20]
            try:
                channel.send(answer, largest=LARGEST_ANSWER)
            except ValueError as error:  # larger than a message may be
                channel.send({"fault": str(error)})
    except Malformed:  # another process reads from the socket, too
        channel.send({"tampered": "a message for the worker"})
    except Closed:
        pass
    finally:
        os._exit(0)


class Worker:
    """The grader's requests to a child, one `do_` method each.

    Each method returns the answer for the grader as JSON data.
    """

    def __init__(
        self,
        shell: Shell,
        guard: Guard,
        limits: Limits,
        modules: LessonModules,
        watch: CodeWatch | None = None,
        demonstrations: Demonstrations | None = None,
    ) -> None:
        self._shell, self._guard, self._limits, self._modules = shell, guard, limits, modules
        self._watch, self._demonstrations = watch, demonstrations
        self._known: dict[str, Exercise] = {}
        self._changed: list[str] = []  # names of tampered objects, from the last observation
        self._attempts = 1  # at the last observation
        self._descriptors = _Descriptors()
        bind_methods(self)

    def begin(self, lesson: str, files: dict[str, str]) -> dict[str, Exercise]:
        """Write an assignment's files into the notebook's folder, and load the lesson's exercises.

        `files` maps relative paths to contents in base64. Returns a dict from exercise name to exercise. Must be called
        before any student code runs. Afterwards the notebook itself can load only the exercises' texts.
        """
        files = dict(files)
        own = {name: files.pop(path) for path, name in _modules_among(files, lesson).items()}  # of a private lesson
        _put(files)
        if own:
            sources = {name: base64.b64decode(data).decode() for name, data in own.items()}
            self._known = defined_in(modules_of(f"private_exercises.{lesson}", sources))
        elif lesson in self._modules:
            self._known = defined_in(self._modules[lesson])
            for name, there in moved_from(lesson).items():  # a notebook that was released before may ask for them
                if there in self._modules:
                    self._known[name] = defined_in(self._modules[there])[name]
        if lesson:
            exercises.provide(lesson, {name: each.texts() for name, each in self._known.items()})
        self._guard.focus(lesson, *{each.lesson for each in self._known.values()})
        # As in Jupyter, the notebook's folder comes first. What is imported already cannot be replaced by a file.
        sys.path.insert(0, "")
        return self._known

    def do_begin(self, lesson: str, files: dict[str, str]) -> ChildReply:
        """Prepare an assignment as the method `begin` does. The answer is an empty dict."""
        self.begin(lesson, files)
        return {}

    def do_take(self, files: dict[str, str]) -> ChildReply:
        """Write a student's own files into the notebook's folder. The answer is an empty dict.

        `files` maps relative paths to contents in base64. The exercises are already loaded, so these files cannot
        replace them.
        """
        for name, data in files.items():
            if name.endswith(_COMPILED):  # code that nobody can read
                continue
            with contextlib.suppress(OSError):  # the path is taken, or the disk is full
                _put({name: data})
        importlib.invalidate_caches()
        return {}

    def do_plan(self, sources: list[str], locked: list[int]) -> ChildReply:
        """Return the places of the released cells that nothing graded needs, under the key `needless`.

        `sources` are the code cells, `locked` the places of those with checks and tests.
        """
        if self._demonstrations is None:
            return {"needless": []}
        asked = {exercise.asks for exercise in self._known.values()}
        return {"needless": self._demonstrations.needless(sources, set(locked), asked)}

    def do_cell(self, source: str, released: bool = True) -> ChildReply:
        """Run one cell. The answer has the key `outputs`: the cell's outputs in nbformat's form.

        `released` tells whether the cell is no student's.
        The outputs include text that C code or other programs write to the file descriptors 1 and 2.
        """
        shell, outputs = self._shell, self._shell.outputs
        if self._watch:
            self._watch.is_released = released or (self._demonstrations is not None and source in self._demonstrations)
        outputs.clear(self._limits.output_bytes)
        for number in (1, 2):
            self._descriptors.take(number, 0)  # discard the output of probes that ran since the last cell
        before = sys.stdout, sys.stderr
        sys.stdout, sys.stderr = Stream("stdout", outputs, 1), Stream("stderr", outputs, 2)  # type: ignore[assignment]
        try:
            with limited(Deadline(self._limits.cell_seconds)):
                result = shell.run_cell(source, store_history=True)
            # A second alarm can end IPython while it shows the first, and nbgrader gives full marks without an error.
            if isinstance(result.error_in_exec or result.error_before_exec, TimeIsUp):
                outputs.end_with(TimeIsUp.__name__, message("run.cell").read(None).splitlines())
        except BaseException as error:  # raised by a student's hook, or by the timeout in IPython's own code
            shell._showtraceback(type(error), error, [type(error).__name__])
        finally:
            sys.stdout, sys.stderr = before
        for number, name in ((1, "stdout"), (2, "stderr")):
            outputs.stream(name, self._descriptors.take(number, max(outputs.left, 0)).decode(errors="replace"))
        return {"outputs": outputs.cells}

    def do_observe(self, exercise: str, seed: str, programs: str = "", weighed: str = "") -> ChildReply:
        """Run an exercise's probe on the cases of `seed`, with the current definitions of the notebook.

        The answer has the key `runs`: a list with the encoded observation of each case. The key `attempts` tells how
        often the answer was observed, the key `changed` is as in `do_guard`. If the learner has defined nothing to
        observe, it has the key `absent` instead. Its value is a list: a verdict's state, a sentence id and parameters.
        `programs` is the source of the candidate programs if the exercise asks for a test, otherwise empty. `weighed`
        names the aspect whose large run is asked for in place of the probe.
        """
        asked = replace(self._known[exercise], programs_text=programs)
        if weighed:
            asked = weighing.weighed(asked, weighed)
            gc.freeze()  # or a collection in the answer touches all of the notebook's objects, which then count
        namespace = self._shell.user_ns
        absent = screen(asked, namespace)
        if absent is not None:
            finding = absent.finding
            assert finding is not None
            return {"absent": [absent.state, finding.got[0].id, finding.got[0].parameters]}
        answer = namespace[asked.asks]
        with no_file_grows() if weighed else contextlib.nullcontext():
            runs = self._observe_alone(asked, answer, seed, among_threads=bool(weighed))  # their memory counts
        if any(file_of(function.__code__).startswith(_OURS) for function in functions_of(answer)):
            self._changed.append("the answer is code of the course's own files")
        return {"runs": [pack_run(run) for run in runs], "attempts": self._attempts, **self.do_guard()}

    def _observe_alone(self, exercise: Exercise, answer: object, seed: str, *, among_threads: bool) -> list[Run]:
        """Observe an answer while no other Python thread runs. Returns one observation per case.

        Most threads wait nearly all the time. If another thread has run, the observation is repeated, at most twice. An
        answer knows the inputs then, so a note says it. If another thread has run in the last repetition, too, this is
        recorded as tampering. If `among_threads` is True, other threads may run.
        """
        for self._attempts in range(1, _TRIES + 1):
            self._changed = []
            put_back = self._guard.torch_put_back(self._changed)
            with self._guard.in_order(), put_back, as_in_a_fresh_process() as unusual:
                threads = OtherThreads()
                self._changed += self._guard.changed()
                self._guard.moved()  # what a cell has put back is the same again
                runs = observe_in_order(exercise, answer, seed, unusual)
                self._changed += [*self._guard.left_on(), *self._guard.moved()]
                if among_threads or not threads.have_run():
                    return runs
        self._changed.append("another thread ran during the check")
        return runs

    def do_code(self, exercise: str) -> ChildReply:
        """Return a digest of the code of a learner's answer, under the key `code`."""
        return {"code": code_digest(self._shell.user_ns.get(self._known[exercise].asks))}

    def do_guard(self, with_torch: bool = False) -> ChildReply:
        """Return the names of tampered objects, under the key `changed`.

        These objects are changed now, or were changed at the last observation. At most 20 names are returned. Names of
        torch that a notebook has replaced are among them only if `with_torch` is True.
        """
        with self._guard.in_order():
            now = self._guard.changed(with_torch)
        return {"changed": list(dict.fromkeys([*self._changed, *now]))[:20]}

    def do_modules(self) -> ChildReply:
        """Return the names of all imported modules, under the key `modules`."""
        return {"modules": sorted(sys.modules)}


class _Descriptors:
    """File descriptors 1 and 2, redirected to anonymous files.

    The files capture the output of C code and of other programs.
    """

    def __init__(self) -> None:
        self._files = {}
        for number in (1, 2):
            file = os.open(tempfile.gettempdir(), os.O_TMPFILE | os.O_RDWR, 0o600)
            os.dup2(file, number)
            os.close(file)
            self._files[number] = os.fstat(number).st_ino
        bind_methods(self)

    def take(self, number: int, most: int) -> bytes:
        """Return at most `most` bytes that were written to the descriptor since the last call.

        `number` is 1 or 2. Further bytes are discarded. If the submission has replaced the descriptor, returns no
        bytes.
        """
        try:
            found = os.fstat(number)
            if found.st_ino != self._files[number] or not found.st_size:
                return b""
            written = os.pread(number, most, 0)
            os.ftruncate(number, 0)
            os.lseek(number, 0, os.SEEK_SET)
            return written
        except OSError:  # closed
            return b""
