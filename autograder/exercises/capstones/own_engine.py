"""Exercise: an autograd engine of the learner's own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from autograder.checking.containment.caught import or_error
from autograder.checking.counted_run import number_from
from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.labels import Entries
from autograder.checking.values import AtMost
from autograder.language import Text
from autograder.measure import counting_backward_runs

from ..shared.engine_runs import (
    DOUBLINGS,
    LENGTH,
    OF_PASSES,
    accumulated,
    backward,
    constant_gradient,
    constant_sum,
    deep_gradient,
    first_gradients,
    forgets_its_parts,
    hooked,
    second_gradients,
    through_a_hook,
    work,
)
from ..shared.hook_trials import HOOKS_RIGHT, OF_HOOKS, Hook, hook_trials
from ..shared.memory_runs import freed, own_memory
from ..shared.random_programs import many_programs, tiny_program
from ..shared.rule_trials import (
    MEETINGS_RIGHT,
    RULES_RIGHT,
    SECOND_RIGHT,
    Truths,
    meetings,
    rules,
    second_rules,
    truths,
)
from ..shared.small_programs import OF_MEETINGS, OF_RULES, OF_SECOND

_OF_LEAVES = Entries(Text("gradient of leaf {n}", "градиент листа {n}"), Text("gradients", "градиентов"))
_PROGRAMS = 2
_LATER = (
    "gradients",
    "memory",
    "accumulated",
    "depth",
    "work",
    "hooks",
    "hooks_in_programs",
    "freed",
    "constant",
    "second_rules",
    "second",
    "second_hook",
)


@exercise(
    title=Text("An engine of your own", "Собственный движок"),
    kind="design",
    asks="Value",
    asks_for="class",
    difficulty=3,
    seconds=30.0,
    aspects=[
        aspect(
            "engine_runs",
            0,
            en="Your own code makes the passes. The check counts the passes of torch's engine.",
            ru="Проходы выполняет ваш код. Считаются проходы движка torch.",
            measured=Text("Backward passes of torch", "Обратных проходов torch"),
        ),
        aspect(
            "rules",
            0.5,
            en="In small programs each rule is right, also where broadcasting took place.",
            ru="В маленьких программах верно каждое правило, в том числе там, где было транслирование.",
            after=("engine_runs",),
            entries=(OF_RULES,),
        ),
        aspect(
            "meetings",
            0.5,
            en="Gradients that meet are added before they go on.",
            ru="Градиенты, которые сходятся, складываются до того, как идут дальше.",
            after=("engine_runs", "rules"),
            entries=(OF_MEETINGS,),
        ),
        aspect(
            "gradients",
            1,
            en="After one pass `.grad` of every leaf is right, and that of an unused leaf is None.",
            ru="После одного прохода `.grad` каждого листа верен, а у неиспользованного листа это None.",
            after=("engine_runs", "rules", "meetings"),
            entries=(_OF_LEAVES,),
        ),
        aspect(
            "memory",
            0.5,
            en="Each leaf has a gradient with memory of its own, and a pass changes no `data`.",
            ru="У каждого листа градиент в собственной памяти, и обратный проход не меняет ни одного `data`.",
            after=("engine_runs", "gradients"),
        ),
        aspect(
            "accumulated",
            1,
            en="Each further pass adds the whole gradient to `.grad` once, over the same graph or another.",
            ru="Каждый следующий проход прибавляет к `.grad` весь градиент один раз, по тому же графу или по другому.",
            after=("engine_runs", "gradients"),
            entries=(OF_PASSES,),
        ),
        aspect(
            "depth",
            0.5,
            en=f"A chain of {LENGTH} additions is no trouble.",
            ru=f"Цепочка из {LENGTH} сложений не вызывает ошибки.",
            after=("engine_runs", "rules", "meetings"),
        ),
        aspect(
            "work",
            0.5,
            en="Each rule runs once, however many paths lead to its value. The check counts torch's operations in a pass "
            f"over {DOUBLINGS} doublings.",
            ru="Каждое правило выполняется один раз, сколько бы путей ни вело к его значению. Считаются операции torch при "
            f"обратном проходе через {DOUBLINGS} удвоений.",
            after=("engine_runs", "rules", "meetings"),
            measured=Text("Operations of torch", "Операций torch"),
        ),
        aspect(
            "hooks",
            1,
            en="Each hook is called once, with the whole gradient, and what it returns takes the gradient's place.",
            ru="Каждый хук вызван один раз, с полным градиентом, а возвращённое им значение заменяет градиент.",
            after=("engine_runs", "gradients"),
            entries=(OF_HOOKS,),
        ),
        aspect(
            "hooks_in_programs",
            0.5,
            en="In random programs with many hooks, too, they get whole gradients and can replace them.",
            ru="И в случайных программах, где хуков много, каждый хук получает весь градиент и может его заменить.",
            after=("engine_runs", "gradients", "hooks"),
        ),
        aspect(
            "freed",
            1,
            en="A pass without `retain_graph=True` lets go of every result on its way, and a second one raises a "
            "RuntimeError.",
            ru="Проход без `retain_graph=True` освобождает все результаты на своём пути, а второй вызывает RuntimeError.",
            after=("engine_runs", "gradients"),
        ),
        aspect(
            "constant",
            0.5,
            en="Without `create_graph=True` a gradient is a constant.",
            ru="Без `create_graph=True` градиент — константа.",
            after=("engine_runs", "gradients"),
        ),
        aspect(
            "second_rules",
            1,
            en="After `create_graph=True` each rule has a right second derivative in small programs.",
            ru="После прохода с `create_graph=True` у каждого правила в маленьких программах верна вторая производная.",
            after=("engine_runs", "gradients"),
            entries=(OF_SECOND,),
        ),
        aspect(
            "second",
            1,
            en="After `create_graph=True` the gradients are part of the graph, and a pass through them gives second "
            "derivatives.",
            ru="После прохода с `create_graph=True` градиенты входят в граф, и проход через них даёт вторые производные.",
            after=("engine_runs", "gradients", "second_rules"),
            entries=(_OF_LEAVES,),
        ),
        aspect(
            "second_hook",
            0.5,
            en="With `create_graph=True` what a hook returns is part of the graph, too.",
            ru="С `create_graph=True` в граф входит и то, что вернул хук.",
            after=("engine_runs", "hooks", "second"),
        ),
    ],
    hints=[
        Text(
            "Which of your rules needs what: the gradient alone, an input, the result? Could each be written in operations "
            "of `Value`?",
            "Что нужно каждому правилу: только градиент, ещё и вход или сам результат? Можно ли записать каждое правило "
            "операциями класса `Value`?",
        ),
        Text(
            "Write `a`, `b` and `g` in the rules, not `a.data`: then a pass records itself. Without `create_graph` wrap "
            "each part anew, `Value(part.data)`. Summing a gradient to an input's shape has to be an operation, too.",
            "Пишите в правилах `a`, `b` и `g`, а не `a.data`: тогда обратный проход записывает сам себя. Без "
            "`create_graph` оборачивайте каждую часть заново: `Value(part.data)`. Приведение градиента к форме входа тоже "
            "должно быть операцией.",
        ),
        Text.same(
            "def __mul__(self, other):\n"
            "    return Value(self.data * other.data, (self, other), lambda g, out: (g * other, g * self))\n"
            "...\n"
            "while ready:\n"
            "    value = ready.pop()\n"
            "    gradient = arrived.pop(value)\n"
            "    ...  # hooks; a leaf; or:\n"
            "    for each, part in zip(value.inputs, value.rule(gradient, value)):\n"
            "        ...\n"
            "    if not (retain_graph or create_graph):\n"
            "        ..."
        ),
    ],
)
def own_engine(answer: Any, case: Case) -> dict[str, object]:
    make, program = answer.Value, case.program
    start = number_from(program.leaves[0])
    known = truths(start)  # by torch's engine, whose passes are not counted yet
    with counting_backward_runs() as runs:
        found = {"rules": or_error(rules, make, known), "meetings": or_error(meetings, make, known)}
        sound = found["rules"] == RULES_RIGHT and found["meetings"] == MEETINGS_RIGHT
        later = _in_programs(make, case, start, known) if sound else dict.fromkeys(_LATER)
    return {"engine_runs": AtMost(limit=0, used=runs.times), **found, **later}


def _in_programs(make: Any, case: Case, start: float, known: Truths) -> dict[str, object]:
    """Return what is observed of an engine whose rules and sums are right.

    What rests on something wrong is left out: its numbers would differ from engine to engine.
    """
    program = case.program
    hooks = or_error(hook_trials, make, make, _attach, backward, start)
    constant = or_error(constant_gradient, make, program)
    # An error says nothing of constants: other aspects are about recorded passes.
    sums = [or_error(observe, make, program) is not False for observe in (constant_sum, forgets_its_parts)]
    summed = constant if constant is not True else all(sums)
    second = or_error(second_rules, make, known)
    return {
        "gradients": or_error(first_gradients, make, program),
        "memory": or_error(own_memory, make, program),
        "accumulated": or_error(accumulated, make, program),
        "depth": or_error(deep_gradient, make, start) if case.measured else None,
        "work": or_error(work, make, start) if case.measured else None,
        "hooks": hooks,
        "hooks_in_programs": or_error(hooked, make, program) if hooks == HOOKS_RIGHT else None,
        "constant": summed,
        "constant after one pass": constant,
        "constant sums": sums,
        "second_rules": second,
        "second": or_error(second_gradients, make, program) if second == SECOND_RIGHT else None,
        "second_hook": or_error(through_a_hook, make, start) if case.measured else None,
        "freed": or_error(freed, make, program),
    }


def _attach(value: Any, hook: Hook) -> object:
    return value.register_hook(hook)


@own_engine.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    yield Case(program=tiny_program(rng), measured=True)
    for program in many_programs(rng, _PROGRAMS):
        yield Case(program=program, measured=False)
