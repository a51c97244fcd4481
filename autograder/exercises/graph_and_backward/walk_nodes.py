"""Exercise: a walk over the nodes of a learner's own engine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from autograder.checking.containment.caught import or_error
from autograder.checking.counted_run import condense, number_from
from autograder.checking.exercise import Case, Why, aspect, exercise
from autograder.checking.labels import Entries
from autograder.checking.observe import unmarked
from autograder.checking.values import AtMost
from autograder.language import Text
from autograder.measure import CountedCalls

from ..shared.engine_runs import DOUBLINGS, LENGTH, OF_PASSES, accumulated, first_gradients, usual_recursion
from ..shared.memory_runs import own_memory
from ..shared.nodes import Node, chain
from ..shared.random_programs import many_programs, small_program, tiny_program
from ..shared.rule_trials import MEETINGS_RIGHT, meetings, truths
from ..shared.small_programs import OF_MEETINGS

_OF_LEAVES = Entries(Text("gradient of leaf {n}", "градиент листа {n}"), Text("gradients", "градиентов"))


@exercise(
    title=Text("A walk of your own", "Собственный обход"),
    kind="complete",
    core=True,
    difficulty=2,
    seconds=20.0,
    aspects=[
        aspect(
            "meetings",
            0.5,
            en="Gradients that meet are added before they go on.",
            ru="Градиенты, которые сходятся, складываются до того, как идут дальше.",
            entries=(OF_MEETINGS,),
        ),
        aspect(
            "gradients",
            1,
            en="`.grad` of every leaf is right. It stays None where a leaf is not used, and at results.",
            ru="`.grad` каждого листа верен. У неиспользованного листа и у результатов там остаётся None.",
            entries=(_OF_LEAVES,),
        ),
        aspect(
            "accumulated",
            1,
            en="Each further walk adds the whole gradient to `.grad` once.",
            ru="Каждый следующий обход прибавляет к `.grad` весь градиент один раз.",
            after=("meetings", "gradients"),
            entries=(OF_PASSES,),
        ),
        aspect(
            "own",
            0.5,
            en="Each `.grad` has memory of its own.",
            ru="У каждого `.grad` собственная память.",
            after=("meetings", "gradients"),
        ),
        aspect(
            "runs",
            1,
            en=f"Each rule runs once. The check counts the runs behind {DOUBLINGS} doublings.",
            ru=f"Каждое правило выполняется один раз. Считаются вызовы правил за {DOUBLINGS} удвоениями.",
            measured=Text("Runs of rules", "Вызовов правил"),
        ),
        aspect(
            "depth",
            1,
            en=f"A chain of {LENGTH} additions is no trouble.",
            ru=f"Цепочка из {LENGTH} сложений не вызывает ошибки.",
        ),
    ],
    hints=[
        Text(
            "When is the gradient of a value complete: when its first part arrives, or when all that use the value have "
            "run?",
            "Когда градиент значения готов: когда пришла первая часть или когда отработали все, кто это значение "
            "использует?",
        ),
        Text(
            "Count first how often each value is used behind `root`, with a list in place of recursion. Then count down.",
            "Сначала сосчитайте, сколько раз используется каждое значение, от которого зависит `root`, со списком "
            "вместо рекурсии. Затем ведите обратный отсчёт.",
        ),
        Text.same(
            "waits_for, todo = {root: 0}, [root]\n"
            "...\n"
            "arrived, may_run = {root: torch.ones_like(root.data)}, [root]\n"
            "while may_run:\n"
            "    value = may_run.pop()\n"
            "    gradient = arrived.pop(value)\n"
            "    ..."
        ),
    ],
    why=Why(
        Text(
            "Why must a value wait for the gradients of all that were made from it?",
            "Почему значение ждёт градиентов от всех, кто из него вычислен?",
        ),
        Text(
            "The derivative is a sum over all paths. If a rule runs with a part of that sum, what arrives later "
            "has to go through it once more, or is lost below it.",
            "Производная — это сумма по всем путям. Если выполнить правило с частью этой суммы, остальное придётся "
            "пропускать через него ещё раз, иначе дальше оно потеряется.",
        ),
    ),
)
def walk_nodes(answer: Any, case: Case) -> dict[str, object]:
    called, program = unmarked(answer.walk_nodes), case.program
    start = number_from(program.leaves[0])

    def walk(root: Any, retain_graph: bool = False) -> object:
        return called(root)  # nothing is freed yet

    met = or_error(meetings, Node, truths(start), walk)
    right = met == MEETINGS_RIGHT  # else the numbers would differ from walk to walk
    return {
        "meetings": met,
        "gradients": or_error(first_gradients, Node, program, walk) if right else None,
        "accumulated": or_error(accumulated, Node, program, walk) if right else None,
        "own": or_error(own_memory, Node, program, walk) if right else None,
        "runs": or_error(_runs, walk, start) if case.measured else None,
        "depth": or_error(_deep, walk, start) if case.measured else None,
    }


def _runs(walk: Any, start: float) -> AtMost:
    leaf, root = chain(start, DOUBLINGS, doubles=True)
    rules = _count_rules(root)
    walk(root)
    return AtMost(limit=len(rules), used=sum(rule.times for rule in rules), of=condense(leaf.grad))


def _count_rules(root: Node) -> list[CountedCalls]:
    """Count the calls of each rule behind `root`; return the counters, to which no node leads."""
    nodes, counters = [root], list[CountedCalls]()
    for node in nodes:  # grows while it is walked
        nodes += [each for each in dict.fromkeys(node.inputs) if each not in nodes]
        if node.rule:
            counters.append(CountedCalls(node.rule))
            node.rule = counters[-1].function
    return counters


def _deep(walk: Any, start: float) -> object:
    leaf, root = chain(start, LENGTH, doubles=False)
    with usual_recursion():
        walk(root)
    return leaf.grad


@walk_nodes.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    yield Case(program=tiny_program(rng), measured=True)
    yield Case(program=small_program(rng), measured=False)
    for program in many_programs(rng, 2):
        yield Case(program=program, measured=False)
