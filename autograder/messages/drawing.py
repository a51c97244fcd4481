"""Sentences of graph pictures and backward steps, in English and Russian."""

from __future__ import annotations

from ..language import Text, sentence

STEP_WORDS: dict[str, Text] = {
    "steps.title": Text("Backward of {name}, step by step: {steps} in all", "Обратный проход {name} по шагам: {steps}"),
    "steps.none": Text("No backward pass to step through", "Обратного прохода нет: показывать по шагам нечего"),
    "steps.kept": Text(
        "This was the real backward(retain_graph=True); every .grad has been put back, and nothing was freed. Where a "
        "step or a picture says freed, a plain backward() lets go of it.",
        "Это был настоящий backward(retain_graph=True); все .grad восстановлены, ничего не освобождено. Там, где в шаге "
        "или на рисунке стоит «освобождено», память освободил бы обычный backward().",
    ),
    "steps.hooks": Text(
        "Hooks of yours ran on the way ({names}): what they did besides, such as printing or appending, is done.",
        "По пути сработали ваши хуки ({names}). Что они сделали, кроме замены градиентов (напечатали, добавили в "
        "список), отменить нельзя.",
    ),
    "steps.norms": Text(
        "‖·‖ is the norm of a larger tensor: the tensors add up, their norms do not.",
        "У больших тензоров показана норма ‖·‖, но складываются сами тензоры, а не нормы.",
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
        "Форма {name} — {shape}, поэтому backward() нужен градиент той же формы: {name}.backward(gradient). Чтобы "
        "увидеть его по шагам, передайте скаляр: steps(({name} * gradient).sum()), а если градиент состоит из единиц — "
        "steps({name}.sum()).",
    ),
    "steps.complex": Text(
        "{name} is complex, and backward() starts by itself only from a real number. Make one of it, as in "
        "steps({name}.abs()).",
        "{name} — комплексный тензор, а backward() без аргумента можно вызвать только для вещественного. Получите "
        "вещественный, например steps({name}.abs()).",
    ),
    "steps.several": Text(
        "steps() goes through one backward pass, from one scalar, and got {count} tensors. Choose the one on which you "
        "call backward(): steps({name}).",
        "steps() показывает один обратный проход от одного скаляра, а получено тензоров: {count}. Выберите тот, от "
        "которого вызываете backward(): steps({name}).",
    ),
    "steps.several.sum": Text(
        "steps() goes through one backward pass, from one scalar, and got {count} tensors. Their gradients add up as "
        "those of their sum do: steps({sum}).",
        "steps() показывает один обратный проход от одного скаляра, а получено тензоров: {count}. Их градиенты "
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
    "steps.node": Text(
        "That is a step of the graph, which knows nothing of your tensors. Give the tensor that it made, as in "
        "steps(loss).",
        "Это шаг графа, о ваших тензорах он ничего не знает. Передайте тензор, который он создал, например "
        "steps(loss).",
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
        "на выходе, для {name}: {said} (первый из градиентов, которые здесь сложатся; всего их {count})",
    ),
    "steps.out.sum": Text(
        "out, for {name}: {increment}; it is added: {before} + {increment} = {after} ({number} of {count})",
        "на выходе, для {name}: {increment}; прибавляется: {before} + {increment} = {after} ({number} из {count})",
    ),
    "steps.out.stop": Text("no gradient for {name}: it needs none", "для {name} градиента нет: он не нужен"),
    "steps.landed": Text.same("{name}.grad: {before} + {increment} = {after}"),
    "steps.landed.changed": Text("after your hook, {name}.grad is {kept}", "после вашего хука {name}.grad — {kept}"),
    "steps.retained": Text("retain_grad(): {name}.grad is {said}", "retain_grad(): {name}.grad — {said}"),
    "steps.hook": Text("your hook ran: {name}", "сработал ваш хук: {name}"),
    "steps.changed": Text(
        "before this step a hook changed the gradient: {before} → {after}",
        "перед этим шагом хук изменил градиент: {before} → {after}",
    ),
    "steps.frees": Text("freed: {rows}", "освобождено: {rows}"),
    "steps.frees.bytes": Text("let go of: {bytes} B", "освобождено памяти: {bytes} Б"),
    "steps.here": Text("gradient {said}", "градиент {said}"),
    "steps.so_far": Text("{number} of {count} so far: {said}", "пока {number} из {count}: {said}"),
    "film.back": Text("Previous", "Назад"),
    "film.forward": Text("Next", "Дальше"),
    "film.play": Text("Play", "Показать подряд"),
    "film.pause": Text("Pause", "Остановить"),
    "film.slider": Text("Which picture", "Какой рисунок показать"),
    "film.keys": Text("Drag, or press the arrow keys ← →", "Передвиньте или нажмите клавишу ← или →"),
    "steps.marks": Text(
        "In the pictures: ✓ has run, ▶ runs now, ▷ waits, ✗ ended the pass with an error; … is more of the graph.",
        "На рисунках: ✓ выполнен, ▶ выполняется, ▷ ждёт, ✗ прервал проход ошибкой; … — остальной граф.",
    ),
}

WORDS: dict[str, Text] = {
    # -- kinds of tensors ---------------------------------------------------------------------------------------
    "kind.leaf": Text("leaf", "лист"),
    "kind.constant": Text("constant", "константа"),
    "kind.number": Text("number", "число"),
    "kind.intermediate": Text("intermediate", "промежуточный"),
    "kind.output": Text("output", "выход"),
    "unnamed": Text("no name", "без имени"),
    # -- rows of a tensor ---------------------------------------------------------------------------------------
    "grad.not_kept": Text("not kept", "не хранится"),
    "grad.has_graph": Text("it has a graph of its own", "у него есть свой граф"),
    "retains_grad": Text("retain_grad() was called", "вызван retain_grad()"),
    "hook": Text("hook: {names}", "хук: {names}"),
    "post_hook": Text("hook after .grad: {names}", "хук после .grad: {names}"),
    "version": Text("version {version}", "версия {version}"),
    "version.changed": Text("changed in place: version {version}", "изменён на месте: версия {version}"),
    "view_of": Text("view of {base}", "представление (view) тензора {base}"),
    "view": Text("view of a tensor with no name", "представление (view) тензора без имени"),
    "view_edge": Text("view of", "view"),
    "adds_up": Text("Σ {count} gradients add up here", "Σ здесь складываются градиенты: {count}"),
    # -- nodes and edges ----------------------------------------------------------------------------------------
    "custom": Text("custom Function", "пользовательская функция"),
    "stop": Text("no gradient", "градиента нет"),
    "output_number": Text("output {number}", "выход {number}"),
    "unreached": Text("no gradient arrives here", "сюда градиент не приходит"),
    "unreached.part": Text("{name} · parameters: {count}", "{name} · параметров: {count}"),
    "unreached.more": Text("… and {count} more", "… и ещё {count}"),
    "folded": Text("{count} nodes", "узлов: {count}"),
    "folded.repeats": Text("the same again, {repeats} more times", "то же самое, ещё повторов: {repeats}"),
    "folded.leaves": Text("more leaves", "другие листья"),
    "folded.rest": Text("the rest of the graph", "остальной граф"),
    "lane": Text("only behind {name}", "только для {name}"),
    "lane.shared": Text("behind several outputs", "для нескольких выходов"),
    # -- saved tensors ------------------------------------------------------------------------------------------
    "saved": Text("saved", "сохранено"),
    "saved.all": Text("tensors", "тензоры"),
    "state.held": Text("held", "хранится"),
    "state.freed": Text("freed", "освобождено"),
    "state.modified": Text("modified in place: version {saved} → {now}", "изменён на месте: версия {saved} → {now}"),
    "state.modified.unknown": Text("modified in place", "изменён на месте"),
    "state.packed": Text("packed by a hook: {hook}", "упакован хуком: {hook}"),
    "state.unreadable": Text("cannot be read", "не читается"),
    "state.attribute": Text("held, without save_for_backward", "хранится, но без save_for_backward"),
    "counted.here": Text("{bytes} B", "{bytes} Б"),
    "counted.elsewhere": Text("+0 B: same storage", "+0 Б: то же хранилище"),
    "counted.input": Text("+0 B: an input", "+0 Б: это вход"),
    "counted.number": Text("a number", "число"),
    "counted.unknown": Text("bytes unknown", "сколько байтов, неизвестно"),
    # -- the caption --------------------------------------------------------------------------------------------
    "title.of": Text(
        "Backward graph of {names}: {nodes} nodes", "Граф обратного прохода от {names}, число узлов: {nodes}"
    ),
    "title": Text("Backward graph: {nodes} nodes", "Граф обратного прохода, число узлов: {nodes}"),
    "title.plain.of": Text("Backward graph of {names}", "Граф обратного прохода от {names}"),
    "title.plain": Text("Backward graph", "Граф обратного прохода"),
    "title.none": Text("No backward graph", "Графа обратного прохода нет"),
    "arrows": Text(
        "Arrows: the way of the gradients in backward, from the output to the leaves.",
        "Стрелки: путь градиентов при обратном проходе, от выхода к листьям.",
    ),
    "factors": Text(
        "× beside an arrow: the derivative of this step, by which the gradient is multiplied.",
        "× у стрелки: производная этого шага, на которую градиент умножается.",
    ),
    "total": Text(
        "Kept for backward beyond the inputs: {bytes} B. Every storage is counted once.",
        "Хранится для обратного прохода сверх входных тензоров: {bytes} Б. Каждое хранилище учтено один раз.",
    ),
    "total.alone": Text("Each output by itself: {parts}", "Каждый выход сам по себе: {parts}"),
    "total.nothing": Text(
        "Kept for backward beyond the inputs: nothing.",
        "Для обратного прохода сверх входных тензоров ничего не хранится.",
    ),
    "total.packed": Text(
        "What a hook packed is not unpacked for this picture, and may hold more.",
        "То, что упаковал хук, ради рисунка не распаковывается и может занимать больше.",
    ),
    # -- sentences about the whole graph ------------------------------------------------------------------------
    "note.freed": Text(
        "Backward has run: what was saved is freed, so a second backward() through these nodes is an error. "
        "retain_graph=True would have kept it.",
        "Обратный проход выполнен: сохранённое освобождено, и второй backward() через эти узлы — ошибка. "
        "С retain_graph=True оно бы осталось.",
    ),
    "note.modified": Text(
        "backward() will refuse at {nodes}: what was saved there was changed in place afterwards.",
        "backward() прервётся с ошибкой, узел {nodes}: сохранённое там потом изменили на месте.",
    ),
    "note.unreached": Text(
        "No gradient from here reaches {parts}; parameters that require grad there: {count}.",
        "Отсюда градиент не доходит до {parts}; параметров с requires_grad=True там: {count}.",
    ),
    "note.end": Text(
        "The way may end at the only tensor here without a name and a history: {place}. Was it made by detach(), .data, "
        "no_grad() or torch.tensor()? inspect_step(model, optimizer) names the line.",
        "Путь может обрываться у единственного здесь тензора без имени и истории: {place}. Не получен ли он через "
        "detach(), .data, no_grad() или torch.tensor()? Строку назовёт inspect_step(model, optimizer).",
    ),
    "note.leaf": Text(
        "{name} is a leaf: you made it, no operation did, so there is no graph behind it. A graph grows when you "
        "compute with it: draw the result.",
        "{name} — лист: его создали вы, а не операция, поэтому графа за ним нет. Граф появится при вычислениях: "
        "нарисуйте их результат.",
    ),
    "note.constant": Text(
        "{name} does not require a gradient and remembers nothing of what it was made from: there is no graph. Was it "
        "made from tensors without requires_grad=True, under no_grad(), with detach(), or by an operation without a "
        "derivative (argmax, a comparison, .long())? By a Function that was given its tensors in a list? Is it a gradient that was computed without create_graph=True?",
        "{name} не требует градиента и не помнит, из чего он получен: графа нет. Не получен ли он из тензоров без "
        "requires_grad=True, внутри no_grad(), через detach() или операцией без производной (argmax, сравнение, "
        ".long())? Не получила ли Function свои тензоры списком? Не градиент ли это, вычисленный без create_graph=True?",
    ),
    "note.integers": Text(
        "{name} holds {dtype} values; only floating-point and complex tensors can require a gradient, so there is no "
        "graph.",
        "В {name} значения типа {dtype}; градиент бывает только у вещественных и комплексных тензоров с плавающей "
        "точкой, поэтому графа нет.",
    ),
    "note.inference": Text(
        "{name} was made under inference_mode(): it can never be part of a graph.",
        "{name} получен внутри inference_mode(): частью графа он быть не может.",
    ),
    "note.refused": Text(
        "torch refuses to say what this tensor was computed from: {error}",
        "torch отказывается сказать, из чего получен этот тензор: {error}",
    ),
    "note.not_tensor": Text(
        "draw() expects a tensor, or several, and got {got}.",
        "draw() ждёт тензор или несколько тензоров, а получена величина типа {got}.",
    ),
    "note.left_out": Text(
        "Left out, as it is no tensor: {types}.",
        "Не показано то, что не является тензором: {types}.",
    ),
    "note.nothing": Text(
        "draw() expects a tensor, or several, as in draw(loss).",
        "draw() ждёт тензор или несколько тензоров, например draw(loss).",
    ),
    "note.number": Text(
        "A number has no graph: .item(), float() and the like leave it behind. Draw the tensor itself.",
        "У числа нет графа: .item(), float() и подобное его теряют. Нарисуйте сам тензор.",
    ),
    "note.module": Text(
        "A module has no graph until it is called: draw what it returns, as in draw(model(x)).",
        "У модуля нет графа, пока его не вызвали: нарисуйте то, что он возвращает, например draw(model(x)).",
    ),
    "note.node": Text(
        "That is a step of the graph, which knows nothing of your tensors. Draw the tensor that it made, as in "
        "draw(loss).",
        "Это шаг графа, о ваших тензорах он ничего не знает. Нарисуйте тензор, который он создал, например draw(loss).",
    ),
    "note.folded": Text(
        "The graph has {size} nodes; repetitions and parts of the model are folded, {shown} boxes are left. To see "
        "inside, draw a tensor from there: draw(h).",
        "Узлов в графе {size}. Повторы и части модели свёрнуты, блоков осталось {shown}. Чтобы заглянуть внутрь, "
        "нарисуйте тензор оттуда: draw(h).",
    ),
    "note.folded.parts": Text(
        "The graph has {size} nodes; repetitions and parts of the model are folded, {shown} boxes are left. To see "
        'inside a part: draw(…).open("{part}").',
        "Узлов в графе {size}. Повторы и части модели свёрнуты, блоков осталось {shown}. Чтобы раскрыть часть: "
        'draw(…).open("{part}").',
    ),
    "note.cut": Text(
        "The graph has {size} nodes, more than can be drawn: these are the {shown} nearest to the output. To see "
        "others, draw a tensor from inside: draw(h).",
        "Узлов в графе {size}, все не нарисовать. Здесь {shown} ближайших к выходу. Чтобы увидеть другие, "
        "нарисуйте тензор изнутри: draw(h).",
    ),
    "note.outputs": Text(
        "Outputs given: {count}, drawn: {shown}; the others are inside folded boxes.",
        "Передано выходов: {count}, нарисовано: {shown}; остальные — внутри свёрнутых блоков.",
    ),
    "open.unknown": Text(
        "This graph has no part {part!r}. Its parts: {names}.", "Части {part!r} в этом графе нет. Есть: {names}."
    ),
    "save.ending": Text(
        "save() writes .svg, .png or .dot, by the ending of the name: got {name!r}.",
        "save() записывает файлы .svg, .png и .dot, по окончанию имени: получено {name!r}.",
    ),
    "save.no_graphviz": Text(
        "To draw the picture, install what is missing: {command}. A file .dot needs only the package graphviz.",
        "Чтобы нарисовать рисунок, выполните: {command}. Для файла .dot нужен только пакет graphviz.",
    ),
    "note.no_graphviz": Text(
        "This is the picture as text. To draw it, install what is missing: {command}",
        "Это рисунок в виде текста. Чтобы увидеть настоящий рисунок, выполните: {command}",
    ),
    "note.no_libraries": Text(
        "The picture could not be made here ({error}); this is the same as text. The Graphviz of the system has what is "
        "missing: apt-get install graphviz, or brew install graphviz.",
        "Нарисовать здесь не удалось ({error}); вот то же самое текстом. Недостающее есть в системном пакете Graphviz: "
        "apt-get install graphviz или brew install graphviz.",
    ),
    "note.no_layout": Text(
        "The picture could not be made here ({error}); this is the same as text.",
        "Нарисовать здесь не удалось ({error}); вот то же самое текстом.",
    ),
    **STEP_WORDS,
}


def word(id: str, language: str, **parameters: object) -> str:
    """Return the word or sentence `id` in `language`, with `parameters` filled in.

    Raises KeyError if there is no such id.
    """
    return sentence(WORDS, id, language, parameters)
