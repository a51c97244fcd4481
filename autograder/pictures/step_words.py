"""What steps(loss) says, in both languages."""

from __future__ import annotations

from ..language import Text

STEP_WORDS: dict[str, Text] = {
    "steps.title": Text("Backward of {name}, step by step: {steps} in all", "Обратный проход {name} по шагам: {steps}"),
    "steps.none": Text("No backward pass to step through", "Обратного прохода, чтобы идти по шагам, нет"),
    "steps.kept": Text(
        "This was the real backward(retain_graph=True); every .grad has been put back, and nothing was freed. Where a "
        "step or a picture says freed, a plain backward() lets go of it.",
        "Это был настоящий backward(retain_graph=True); все .grad возвращены, ничего не освобождено. Где в шаге или на "
        "рисунке сказано «освобождено», это сделал бы обычный backward().",
    ),
    "steps.hooks": Text(
        "Hooks of yours ran on the way ({names}): what they did besides, such as printing or appending, is done.",
        "По пути сработали ваши хуки ({names}). То, что они сделали помимо градиентов (напечатали, добавили в список), "
        "сделано.",
    ),
    "steps.norms": Text(
        "‖·‖ is the norm of a larger tensor: the tensors add up, their norms do not.",
        "‖·‖ — норма тензора побольше: складываются сами тензоры, а не их нормы.",
    ),
    "steps.first": Text(
        "The pass has {steps} steps: these are the first {shown}. For those of another part, take a scalar from "
        "inside, as in steps(h.sum()).",
        "Всего шагов: {steps}, здесь первые {shown}. Чтобы увидеть шаги другой части, возьмите скаляр оттуда, "
        "например steps(h.sum()).",
    ),
    "steps.left": Text("What the other steps add to .grad:", "Что остальные шаги прибавляют к .grad:"),
    "steps.left.more": Text("… and {count} more leaves", "… и ещё листьев: {count}"),
    "steps.stopped": Text(
        "Backward stopped with an error, at {node}: {error}", "Обратный проход прервала ошибка, узел {node}: {error}"
    ),
    "steps.stopped.start": Text("Backward could not start: {error}", "Обратный проход не начался: {error}"),
    "steps.not_scalar": Text(
        "{name} has shape {shape}, so backward() has to be told a gradient of that shape: {name}.backward(gradient). "
        "Its steps are those of a scalar: steps(({name} * gradient).sum()); with a gradient of ones, "
        "steps({name}.sum()).",
        "Форма {name} — {shape}, поэтому backward() нужен градиент той же формы: {name}.backward(gradient). Его шаги — "
        "это шаги скаляра: steps(({name} * gradient).sum()); если градиент из единиц, то steps({name}.sum()).",
    ),
    "steps.complex": Text(
        "{name} is complex, and backward() starts by itself only from a real number. Make one of it, as in "
        "steps({name}.abs()).",
        "{name} — комплексное число, а backward() сам начинается только с вещественного. Получите его, например "
        "steps({name}.abs()).",
    ),
    "steps.several": Text(
        "steps() goes through one backward pass, from one scalar, and got {count} tensors. Their gradients add up as "
        "those of their sum do: steps({sum}).",
        "steps() идёт по одному обратному проходу от одного скаляра, а получено тензоров: {count}. Их градиенты "
        "складываются так же, как у их суммы: steps({sum}).",
    ),
    "steps.not_tensor": Text(
        "steps() expects a tensor with one number, and got {got}.",
        "steps() ждёт тензор из одного числа, а получена величина типа {got}.",
    ),
    "steps.nothing": Text(
        "steps() expects a tensor with one number, as in steps(loss).",
        "steps() ждёт тензор из одного числа, например steps(loss).",
    ),
    "steps.number": Text(
        "A number has no graph: .item(), float() and the like leave it behind. Give the tensor itself.",
        "У числа нет графа: .item(), float() и подобное его теряют. Передайте сам тензор.",
    ),
    "steps.module": Text(
        "A module has no graph until it is called: give a loss made of what it returns, as in steps(model(x).sum()).",
        "У модуля нет графа, пока его не вызвали: передайте потери, полученные из того, что он возвращает, например "
        "steps(model(x).sum()).",
    ),
    "steps.leaf": Text(
        "{name} is a leaf: you made it, no operation did, so there is nothing for backward() to go through. Compute "
        "with it, and give the result.",
        "{name} — лист: его создали вы, а не операция, поэтому backward() некуда идти. Вычислите с ним что-нибудь и "
        "передайте результат.",
    ),
    "steps.in": Text("gradient in: {said}", "градиент на входе: {said}"),
    "steps.in.of": Text("gradient in, of {name}: {said}", "градиент на входе, по {name}: {said}"),
    "steps.in.none": Text("no gradient came in for output {output}", "по выходу {output} градиент не пришёл"),
    "steps.out": Text("out, for {name}: {said}", "на выходе, для {name}: {said}"),
    "steps.out.first": Text(
        "out, for {name}: {said} (the first of {count}, which will add up)",
        "на выходе, для {name}: {said} (первый из складываемых, всего их {count})",
    ),
    "steps.out.sum": Text(
        "out, for {name}: {increment}; it is added: {before} + {increment} = {after} ({number} of {count})",
        "на выходе, для {name}: {increment}; прибавляется: {before} + {increment} = {after} ({number} из {count})",
    ),
    "steps.out.stop": Text("no gradient for {name}: it needs none", "для {name} градиента нет: он не нужен"),
    "steps.landed": Text(
        "{name}.grad: {before} + {increment} = {after}", "{name}.grad: {before} + {increment} = {after}"
    ),
    "steps.landed.changed": Text("after your hook, {name}.grad is {kept}", "после вашего хука {name}.grad — {kept}"),
    "steps.retained": Text("retain_grad(): {name}.grad is {said}", "retain_grad(): {name}.grad — {said}"),
    "steps.hook": Text("your hook ran: {name}", "сработал ваш хук: {name}"),
    "steps.changed": Text(
        "before this step a hook changed the gradient: {before} → {after}",
        "перед этим шагом хук изменил градиент: {before} → {after}",
    ),
    "steps.frees": Text("freed: {rows}", "освобождено: {rows}"),
    "steps.frees.bytes": Text("let go of: {bytes} B", "отпущено: {bytes} Б"),
    "steps.here": Text("gradient {said}", "градиент {said}"),
    "steps.so_far": Text("{number} of {count} so far: {said}", "пока {number} из {count}: {said}"),
    "steps.count": Text("step {number} of {count}", "шаг {number} из {count}"),
    "steps.back": Text("Previous step", "Предыдущий шаг"),
    "steps.forward": Text("Next step", "Следующий шаг"),
    "steps.keys": Text("or the arrow keys ← →", "или клавиши ← →"),
    "steps.marks": Text(
        "In the pictures: ✓ has run, ▶ runs now, ▷ waits, ✗ ended the pass with an error; … is more of the graph.",
        "На рисунках: ✓ выполнен, ▶ выполняется, ▷ ждёт, ✗ прервал проход ошибкой; … — остальной граф.",
    ),
}
