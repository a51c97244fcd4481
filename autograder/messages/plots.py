"""Sentences of plots, in English and Russian."""

from __future__ import annotations

from ..language import Text, sentence

WORDS: dict[str, Text] = {
    "unit.B": Text("B", "Б"),
    "unit.kB": Text("kB", "кБ"),
    "unit.MB": Text("MB", "МБ"),
    "plot.no_matplotlib": Text(
        "This is the plot as text. To draw it, install what is missing: {command}",
        "Это график в виде текста. Чтобы увидеть настоящий график, выполните: {command}",
    ),
    "more": Text("… and {count} more", "… и ещё {count}"),
    "failed": Text(
        "{command}() ran your function, and it ended with {error}",
        "При запуске {command}() ваша функция завершилась с ошибкой {error}",
    ),
    # -- plot_jacobian ------------------------------------------------------------------------------------------
    "jacobian.title": Text("The Jacobian, J of shape {shape}", "Матрица Якоби, форма J — {shape}"),
    "jacobian.title.products": Text(
        "The Jacobian and its products, J of shape {shape}", "Матрица Якоби и её произведения, форма J — {shape}"
    ),
    "jacobian.left": Text("v from the left weighs rows", "v слева взвешивает строки"),
    "jacobian.right": Text("v from the right weighs columns", "v справа взвешивает столбцы"),
    "jacobian.row": Text("row {index}: {numbers}", "строка {index}: {numbers}"),
    "jacobian.white": Text(
        "White is 0, blue is positive, red is negative.",
        "Белый цвет — это 0, синий — положительное, красный — отрицательное.",
    ),
    "jacobian.picked": Text(
        "{what}: {numbers}; not zero at {places}", "{what}: {numbers}; не ноль в позициях {places}"
    ),
    "jacobian.product": Text.same("{what}: {numbers}"),
    "jacobian.what": Text(
        "plot_jacobian() expects a matrix, as in plot_jacobian(J, left=v), or a function of a tensor and the tensor, "
        "as in plot_jacobian(f, x, left=v). It got {got}.",
        "plot_jacobian() ждёт матрицу, например plot_jacobian(J, left=v), или функцию от тензора и сам тензор, "
        "например plot_jacobian(f, x, left=v). Получено: {got}.",
    ),
    "jacobian.no_x": Text(
        "At which point? The Jacobian of a function belongs to a point: plot_jacobian(f, x).",
        "В какой точке? Матрица Якоби вычисляется в точке: plot_jacobian(f, x).",
    ),
    "jacobian.integers": Text(
        "{name} holds {dtype} values, and a derivative needs real floating-point numbers: give {name}.float().",
        "В {name} значения типа {dtype}, а для производной нужны вещественные числа с плавающей точкой: передайте "
        "{name}.float().",
    ),
    "jacobian.complex": Text(
        "{name} is complex; the picture is of real numbers. Take a real part of it, as in {name}.real.",
        "{name} — комплексный тензор, а на рисунке вещественные числа. Возьмите, например, {name}.real.",
    ),
    "jacobian.unreadable": Text(
        "{name} cannot be read here ({error}). Call plot_jacobian() outside of transforms, with a tensor that holds "
        "numbers.",
        "{name} здесь не прочитать ({error}). Вызовите plot_jacobian() вне преобразований, с тензором, в котором есть"
        " числа.",
    ),
    "jacobian.matrix": Text(
        "J has shape {shape}; a matrix has two dimensions, neither of them empty. Of a function and a point "
        "plot_jacobian(f, x) makes the matrix itself.",
        "Форма J — {shape}, а у матрицы должно быть два непустых измерения. Если передать функцию и точку, "
        "plot_jacobian(f, x) построит матрицу сама.",
    ),
    "jacobian.not_tensor": Text(
        "The function has to return one tensor, and returned {got}.",
        "Функция должна возвращать один тензор, а вернула величину типа {got}.",
    ),
    "jacobian.constant": Text(
        "What the function returns does not depend on x in a graph: there is nothing to differentiate. Does it use "
        ".detach(), .item(), NumPy, no_grad()?",
        "Результат функции не связан с x графом: дифференцировать нечего. Нет ли в ней .detach(), .item(), NumPy или "
        "no_grad()?",
    ),
    "jacobian.large": Text(
        "J has shape {shape}: too many entries for a picture of each (at most {most}). Give fewer inputs or "
        "outputs, or a part of the matrix, as in plot_jacobian(J[:20, :20]).",
        "Форма J — {shape}: элементов слишком много, чтобы показать каждый (не больше {most}). Возьмите меньше "
        "входов или выходов либо часть матрицы, например plot_jacobian(J[:20, :20]).",
    ),
    "jacobian.not_finite": Text(
        "{name} has entries that are nan or inf, {count} in all, the first at {place}: they have no colour. Look there "
        "first.",
        "В {name} есть значения nan или inf, их {count}, первое в позиции {place}: цвета для них нет. Сначала "
        "разберитесь с ними.",
    ),
    "jacobian.left.shape": Text(
        "left has {got} numbers, and J of shape {shape} has {wanted} rows: v from the left has one number for each "
        "output.",
        "В left чисел: {got}, а у J формы {shape} строк: {wanted}. В векторе v слева по одному числу на каждый выход.",
    ),
    "jacobian.right.shape": Text(
        "right has {got} numbers, and J of shape {shape} has {wanted} columns: v from the right has one number for "
        "each input.",
        "В right чисел: {got}, а у J формы {shape} столбцов: {wanted}. В векторе v справа по одному числу на каждый "
        "вход.",
    ),
    "jacobian.vector": Text(
        "{name} has to be a tensor of real numbers, and is {got}.",
        "В {name} должен быть тензор из вещественных чисел, а получено: {got}.",
    ),
    # -- plot_accumulation --------------------------------------------------------------------------------------
    "accumulation.title": Text(
        "Accumulation: backward passes {passes}, steps {steps}", "Накопление: обратных проходов {passes}, шагов {steps}"
    ),
    "accumulation.loss": Text("loss", "значение функции потерь"),
    "accumulation.norm": Text("norm of .grad", "норма .grad"),
    "accumulation.across": Text("micro-batch (backward pass)", "микробатч (обратный проход)"),
    "accumulation.before": Text("before backward()", "до backward()"),
    "accumulation.after": Text("after backward()", "после backward()"),
    "accumulation.step": Text.same("optimizer.step()"),
    "accumulation.pass": Text(
        "{number}: loss {loss}, norm of .grad {before} → {after}",
        "{number}: значение функции потерь {loss}, норма .grad {before} → {after}",
    ),
    "accumulation.stepped": Text("   step, with norm {norm}", "   шаг, норма {norm}"),
    "accumulation.first": Text(
        "The first {shown} of {count} backward passes.", "Первые обратные проходы: {shown} из {count}."
    ),
    "accumulation.left": Text(
        "After the last step .grad is not used again: backward passes without a step, {count}.",
        "Градиенты, накопленные после последнего шага, не использованы; обратных проходов без шага: {count}.",
    ),
    "accumulation.not_finite": Text("nan or inf in backward pass {places}", "nan или inf в обратном проходе {places}"),
    "accumulation.what": Text(
        "plot_accumulation() watches an optimizer, a model or parameters, as in plot_accumulation(optimizer). It got "
        "{got}.",
        "plot_accumulation() наблюдает за оптимизатором, моделью или параметрами, например "
        "plot_accumulation(optimizer). Получено: {got}.",
    ),
    "accumulation.frozen": Text(
        "None of these is a leaf that requires grad, so no backward pass fills their .grad. Watch those that do, as "
        "in plot_accumulation(optimizer).",
        "Среди них нет листа, который требует градиента, и обратный проход их .grad не заполняет. Передайте "
        "тензоры, у которых он заполняется, например plot_accumulation(optimizer).",
    ),
    "accumulation.nothing": Text(
        "No backward pass has been seen. Put the loop inside: with plot_accumulation(optimizer) as seen: …, then show"
        " seen.",
        "Обратных проходов не было. Поместите цикл внутрь: with plot_accumulation(optimizer) as seen: …, а потом "
        "покажите seen.",
    ),
    # -- plot_saved ---------------------------------------------------------------------------------------------
    "saved.title": Text(
        "Kept for backward after the forward pass, by layer", "Хранится для обратного прохода после прямого, по слоям"
    ),
    "saved.across": Text("made in the layer, still held ({unit})", "создано в слое и хранится ({unit})"),
    "saved.total": Text("{name}: {bytes} B in all", "{name}: всего {bytes} Б"),
    "saved.layer": Text("  {layer}: {bytes} B", "  {layer}: {bytes} Б"),
    "saved.outside": Text("outside the layers", "вне слоёв"),
    "saved.once": Text(
        "Every storage is counted once; parameters and the input are not counted.",
        "Каждое хранилище учтено один раз; параметры и вход не учтены.",
    ),
    "saved.what": Text(
        "plot_saved() expects a module and its input, as in plot_saved(net, x), and may be given functions to "
        "compare. It got {got}.",
        "plot_saved() ждёт модуль и его вход, например plot_saved(net, x); можно добавить функции для сравнения. "
        "Получено: {got}.",
    ),
    "ways.none": Text(
        "Which function? {command}() runs functions with the argument that stands first, as in {command}(x, plain, "
        "checkpointed).",
        "Какую функцию? {command}() запускает функции с аргументом, который стоит первым, например {command}(x, "
        "plain, checkpointed).",
    ),
    "ways.not_function": Text(
        "{command}() runs functions, and {got} cannot be called. Give the function itself, without brackets.",
        "{command}() запускает функции, а {got} вызвать нельзя. Передайте саму функцию, без скобок.",
    ),
    "ways.many": Text(
        "{count} functions are too many for one plot: compare at most {most}.",
        "Функций слишком много для одного графика: {count}. Сравнивайте не больше {most}.",
    ),
    "saved.no_graph": Text(
        "{name} returned nothing with a graph, so nothing is kept for backward. Does it return a tensor that requires"
        " grad, and not run under no_grad()?",
        "{name} не возвращает ничего с графом, поэтому для обратного прохода ничего не хранится. Возвращает ли "
        "функция тензор, который требует градиента, и нет ли вокруг no_grad()?",
    ),
    # -- plot_memory --------------------------------------------------------------------------------------------
    "memory.title": Text("Live bytes, operation by operation", "Занято байтов, операция за операцией"),
    "memory.across": Text("operations", "операции"),
    "memory.up": Text("alive, {unit}", "занято, {unit}"),
    "memory.peak": Text("peak {bytes} B", "пик {bytes} Б"),
    "memory.text": Text(
        "{name}: peak {peak} B, in the {phase}, after operation {at} of {count}",
        "{name}: пик {peak} Б, {phase}, после операции {at} из {count}",
    ),
    "memory.phase.forward": Text("forward pass", "прямой проход"),
    "memory.phase.backward": Text("backward pass", "обратный проход"),
    "memory.phase": Text(
        "  {phase}, operations {first}–{last}: {bytes} B alive at its end",
        "  {phase}, операции {first}–{last}: в конце занято {bytes} Б",
    ),
    "memory.once": Text(
        "New tensors only, gradients included; every storage is counted once.",
        "Только новые тензоры, включая градиенты; каждое хранилище учтено один раз.",
    ),
    "memory.no_tensors": Text(
        "{name} made no tensors: there is nothing to measure.", "{name} не создаёт тензоров: измерять нечего."
    ),
    # -- plot_differences ---------------------------------------------------------------------------------------
    "differences.title": Text(
        "Finite differences: error against step size", "Конечные разности: погрешность и размер шага"
    ),
    "differences.across": Text("step h (smaller to the right)", "шаг h (вправо — меньше)"),
    "differences.up": Text("error of the derivative", "погрешность производной"),
    "differences.one_sided": Text("one-sided", "односторонняя"),
    "differences.central": Text("central", "центральная"),
    "differences.at": Text("  step {step}: error {error}", "  шаг {step}: погрешность {error}"),
    "differences.best": Text(
        "{kind}, {dtype}: best step about {step}, error there up to {error}",
        "{kind}, {dtype}: лучший шаг около {step}, погрешность там до {error}",
    ),
    "differences.star": Text("best step", "лучший шаг"),
    "differences.failed": Text(
        "{command}() calls the function with float64 and with float32 tensors, and it ended with {error}",
        "{command}() вызывает функцию с тензорами float64 и float32, и она завершилась с ошибкой {error}",
    ),
    "differences.what": Text(
        "plot_differences() expects a function of a tensor and a point, as in plot_differences(torch.sin, 1.0). It "
        "got {got}.",
        "plot_differences() ждёт функцию от тензора и точку, например plot_differences(torch.sin, 1.0). Получено: "
        "{got}.",
    ),
    "differences.point": Text(
        "The point has {count} numbers; between 1 and {most} can be shown.",
        "В точке чисел: {count}; показать можно от 1 до {most}.",
    ),
    "differences.not_finite": Text(
        "At this point the function or its derivative is nan or inf, so there is no error to show. Choose a point "
        "where it is smooth.",
        "В этой точке функция или её производная равна nan или inf, показывать нечего. Выберите точку, где функция "
        "гладкая.",
    ),
    # -- plot_digits --------------------------------------------------------------------------------------------
    "digits.title": Text("A net learns to read digits", "Сеть учится читать цифры"),
    "digits.moment": Text(
        "batches: {batches}, right: {right} of {count} ({percent} %)",
        "батчей: {batches}, верно: {right} из {count} ({percent} %)",
    ),
    "digits.wrong": Text("3≠5: the net answers 3, the picture is of a 5", "3≠5: ответ сети — 3, а на рисунке 5"),
    "digits.what": Text(
        "plot_digits() expects pictures of 64 numbers, their digits, and a dict from a number of batches to the "
        "answers to all pictures, as in plot_digits(x, y, {{100: answers}}).",
        "plot_digits() ждёт изображения по 64 числа, их цифры и словарь, где числу батчей соответствуют ответы на все "
        "изображения, например plot_digits(x, y, {{100: answers}}).",
    ),
    # -- plot_progress ------------------------------------------------------------------------------------------
    "progress.title": Text(
        "Progress: {earned} of {maximum} points in the lessons begun",
        "Сделано в начатых уроках: баллы {earned} из {maximum}",
    ),
    "progress.lesson": Text(
        "{lesson}: {earned} of {maximum} points, {solved} of {count} exercises, mistakes recognised: {mistakes}",
        "{lesson}: баллы {earned} из {maximum}, упражнения {solved} из {count}, распознано ошибок: {mistakes}",
    ),
    "progress.exercises": Text("exercises\n(+ extra)", "упражнения\n(+ доп.)"),
    "progress.points": Text("points", "баллы"),
    "progress.extra.solved": Text("  extra exercises solved: {count}", "  решено дополнительных: {count}"),
    "progress.mistakes": Text("mistakes\nrecognised", "распознано\nошибок"),
    "progress.mistake": Text.same("  {exercise}: {says}"),
    "progress.others": Text("Lessons not begun yet: {count}.", "Ещё не начато уроков: {count}."),
    "play.one_argument": Text(
        "`play` turns one argument, here there are {count}: write for example `play(curve, K=[1, 2, 4])`.",
        "Функция `play` меняет один аргумент, а здесь их {count}: напишите, например, `play(curve, K=[1, 2, 4])`.",
    ),
    "play.no_values": Text(
        "`play` was given no value of `{name}`: write for example `play(curve, {name}=[1, 2, 4])`.",
        "Функции `play` не дали ни одного значения `{name}`: напишите, например, `play(curve, {name}=[1, 2, 4])`.",
    ),
    "progress.empty": Text("No answer so far.", "Пока нет ни одного ответа."),
}


def word(id: str, language: str, **parameters: object) -> str:
    """Return the word or sentence `id` in `language`, with `parameters` filled in.

    Raises KeyError if there is no such id.
    """
    return sentence(WORDS, id, language, parameters)
