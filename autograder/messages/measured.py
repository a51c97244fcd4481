"""Names of measured things in English and Russian.

A probe puts several measurements of one aspect into a dict. The keys are either code, such as `w.grad`, or phrases.
Code is shown as it is, and a phrase is shown by the text in `NAMES`.
"""

from __future__ import annotations

import re

from ..language import Text

# A phrase that holds the name of a tensor or an optimizer is in `_PATTERNS`.
NAMES: dict[str, Text] = {
    "value": Text("value", "значение"),
    "gradient": Text("gradient", "градиент"),
    "gradient of a second pass": Text("gradient of a second pass", "градиент при втором проходе"),
    "incoming gradient unchanged": Text("the incoming gradient is unchanged", "пришедший градиент не изменён"),
    "cosine of the angle": Text("cosine of the angle", "косинус угла"),
    "largest magnitude of an eigenvalue": Text(
        "largest magnitude of an eigenvalue", "наибольший модуль собственного значения"
    ),
    "second derivative": Text("second derivative", "вторая производная"),
    "output": Text("output", "выход"),
    "input": Text("input", "вход"),
    "result": Text("result", "результат"),
    "changed in place": Text("`x` is changed in place", "`x` изменён на месте"),
    "dtypes that f got": Text("dtype of what `f` got", "dtype аргумента `f`"),
    "input unchanged": Text("input unchanged", "вход не изменён"),
    "grad_output unchanged": Text("`grad_output` unchanged", "`grad_output` не изменён"),
    "same gradient with a second call": Text(
        "same gradient when the function is called a second time",
        "градиент тот же, если функция вызвана ещё раз",
    ),
    "result is the input": Text("the result is the input tensor itself", "результат — сам входной тензор"),
    "through the result": Text("gradient through the result", "градиент через результат"),
    "through the input": Text("gradient through the input", "градиент через вход"),
    "vmap of grad": Text("`vmap` of `grad`", "`vmap` от `grad`"),
    "vmap, in_dims=1": Text("`vmap` with `in_dims=1`", "`vmap` с `in_dims=1`"),
    "vmap, in_dims=(0, None)": Text("`vmap` with `in_dims=(0, None)`", "`vmap` с `in_dims=(0, None)`"),
    "backward() through vmap": Text("`backward()` through `vmap`", "`backward()` сквозь `vmap`"),
    "share": Text("share", "доля"),
    "share has a graph": Text("the share has a graph", "у доли есть граф"),
    "tangent for x": Text(
        "forward mode with a tangent for `x` alone", "прямой режим с касательным вектором только для `x`"
    ),
    "tangent for y": Text(
        "forward mode with a tangent for `y` alone", "прямой режим с касательным вектором только для `y`"
    ),
    "jacrev of jacrev": Text("`jacrev` of `jacrev`", "`jacrev` от `jacrev`"),
    "products in forward": Text("dtype of products in the forward pass", "тип произведений в прямом проходе"),
    "products in backward": Text("dtype of products in the backward pass", "тип произведений в обратном проходе"),
    "value stays": Text("`loss(t)` stays the same", "`loss(t)` не меняется"),
    "value changes": Text("`loss(t)` changes with `t`", "`loss(t)` меняется вместе с `t`"),
    "refused": Text(
        "the backward pass is refused with the error about in-place changes",
        "обратный проход прерван ошибкой об изменении на месте",
    ),
    "snapshot": Text("snapshot", "снимок"),
    "snapshot of another x": Text("a snapshot of another `x`", "снимок другого `x`"),
    "the result was f(x)": Text("the result was `f(x)`", "возвращалось значение `f(x)`"),
    "the result is f(x)": Text("the result is `f(x)`", "возвращено значение `f(x)`"),
    "batches[i] is old_batch": Text(
        "the list holds the same batches in order", "в списке прежние батчи и в прежнем порядке"
    ),
    "snapshot of the edited x": Text("a snapshot of the edited `x`", "снимок изменённого `x`"),
    "shared": Text("memory is shared", "память общая"),
    "one memory for both": Text("`h` and `values` share memory", "у `h` и `values` общая память"),
    "results": Text("results", "результаты"),
    "own memory": Text("the memory is its own", "память своя"),
    "same tensors": Text("the parameters are the same tensors", "параметры — те же тензоры"),
    "modes stay": Text("the modes are as before", "режимы прежние"),
    "loss": Text("loss", "потери"),
    "gradients": Text("gradients", "градиенты"),
    "next result": Text("next result", "следующий результат"),
    "next result of the new module": Text("next result of the new module", "следующий результат нового модуля"),
    "on a GPU": Text("with its inputs on a GPU", "если входы лежат на GPU"),
    "same numbers": Text("sum of the numbers on a GPU, sum of magnitudes", "сумма чисел на GPU, сумма их модулей"),
    "results there": Text("the results lie there, too", "результаты лежат там же"),
    "nothing returned": Text("nothing came back there", "при этом ничего не возвращено"),
    "returned": Text("returned", "возвращено"),
    "type": Text("type", "тип"),
    ".grad": Text("`.grad` of the inputs", "`.grad` входов"),
    "hooks": Text("hooks left", "осталось хуков"),
    "steps of the optimizer": Text("steps of the optimizer", "шагов оптимизатора"),
    ".grad of the tensors": Text("`.grad` of the tensors", "`.grad` тензоров"),
    ".grad of the leaves": Text("`.grad` of the leaves", "`.grad` листьев"),
    "error passed on": Text("torch's error reached the caller", "ошибка torch дошла до вызывающего кода"),
    "error of a hook passed on": Text(
        "the error of somebody else's hook reached the caller", "ошибка чужого хука дошла до вызывающего кода"
    ),
    "hooks after an error": Text("hooks left after torch's error", "осталось хуков после ошибки torch"),
    "hooks after an error of a hook": Text(
        "hooks left after an error in somebody else's hook", "осталось хуков после ошибки в чужом хуке"
    ),
    ".grad of the parameters": Text("`.grad` of the parameters", "`.grad` параметров"),
    "flags of the parameters": Text("`requires_grad` of the parameters", "`requires_grad` параметров"),
    "backward can be called": Text("`loss.backward()` can be called", "`loss.backward()` можно вызвать"),
    "calls of all_reduce": Text("calls of `all_reduce`", "вызовы `all_reduce`"),
    ".grad at the calls": Text("`.grad` at the calls", "`.grad` в момент вызовов"),
    "finish() raised": Text("`finish()` raised RuntimeError", "`finish()` вызвала RuntimeError"),
    "retain_grad() stays on": Text(
        "`retain_grad()` is still on for an intermediate tensor", "у промежуточного тензора действует `retain_grad()`"
    ),
    "hooks left on the layers": Text("hooks left on the layers", "осталось хуков на слоях"),
    "hooks left on weights and x": Text("hooks left on the weights and `x`", "осталось хуков на весах и на `x`"),
    "the hooks are off": Text("the hooks are removed", "хуки сняты"),
    "backward passes": Text("backward passes", "обратных проходов"),
    "calls of torch.save": Text("calls of `torch.save`", "вызовов `torch.save`"),
    "all digits are right": Text("all digits are right", "все цифры верны"),
    "calls of f": Text("calls of `f`", "вызовов `f`"),
    "calls of loss_of": Text("calls of `loss_of`", "вызовов `loss_of`"),
    "first backward": Text("gradient after the first `backward()`", "градиент после первого `backward()`"),
    "second backward": Text("gradient after the second `backward()`", "градиент после второго `backward()`"),
    "gradient of the measured call": Text(
        "gradient of the call in which bytes are counted", "градиент вызова, в котором подсчитаны байты"
    ),
    "written": Text("files written", "записано файлов"),
    "files": Text("files left", "осталось файлов"),
    "saved tensors without a file": Text("saved tensors without a file", "сохранённых тензоров без файла"),
    "largest without a file": Text("bytes of the largest without a file", "байтов в наибольшем тензоре без файла"),
    "files hold all bytes": Text("the files are as large as the tensors", "файлы не меньше самих тензоров"),
    "of dropped results": Text("files of results that `f` dropped", "файлов результатов, которые отбросила `f`"),
    "bytes in memory": Text("bytes in memory", "байт в памяти"),
    "bytes still in memory": Text("bytes still in memory", "байт осталось в памяти"),
    "after backward": Text("files left after `backward()`", "осталось файлов после `backward()`"),
    "result dropped": Text("files left when the result is dropped", "осталось файлов, когда результат удалён"),
    "float64": Text("both points in float64", "обе точки в float64"),
    "1 to 100 entries": Text("both points of 1 to 100 entries", "в каждой точке от 1 до 100 элементов"),
    "a pair of triples": Text("a pair of triples came back", "возвращена пара троек"),
    "weights unchanged": Text("the weights are unchanged", "веса не изменены"),
    "buffers unchanged": Text("the buffers are unchanged", "буферы не изменены"),
    ".grad unchanged": Text("`.grad` of the weights is unchanged", "`.grad` весов не изменён"),
    "requires_grad unchanged": Text("`requires_grad` is unchanged", "`requires_grad` не изменён"),
    "mode unchanged": Text("the mode is unchanged", "режим не изменён"),
    "length": Text("length", "длина"),
    "first call": Text("gradient after the first call", "градиент после первого вызова"),
    "value of a second call": Text("value of a second call", "значение второго вызова"),
    "second result": Text("result of a second call", "результат второго вызова"),
    "result after a second call": Text("result after a second call", "результат после второго вызова"),
    "first of two calls": Text(
        "first of two calls, with both backward passes after the second",
        "первый из двух вызовов, оба обратных прохода — после второго",
    ),
    "second of two calls": Text("second of two calls", "второй из двух вызовов"),
    "second call": Text("gradient after the second call", "градиент после второго вызова"),
    "one sample": Text("one sample", "один пример"),
    "under vmap": Text("under `vmap`", "внутри `vmap`"),
    "views_at_edit > 0": Text("there are views when the edit is made", "в момент изменения есть представления"),
    "later backward": Text("gradient after a later `backward()`", "градиент после следующего `backward()`"),
    "read without the lock": Text("`.grad` was read without the lock", "`.grad` прочитан без блокировки"),
    "written without the lock": Text("`.grad` was written without the lock", "`.grad` записан без блокировки"),
    "require grad": Text("require grad", "требуют градиента"),
    "model's mode stays": Text("the model's mode stays the same", "режим модели не меняется"),
    "model's flags": Text("the model's parameters that require grad", "параметры модели, требующие градиента"),
    "graph freed": Text("the graph is freed", "сохранённое в графе освобождено"),
    "list unchanged": Text("the list unchanged", "список не изменён"),
    "shares memory with the list": Text("`.grad` shares memory with the list", "у `.grad` и списка общая память"),
    "results require grad": Text("the results require grad", "результаты требуют градиента"),
    "recording in the model": Text("recording is on inside the model", "внутри модели отслеживание включено"),
    "caller's mode": Text("the caller's mode is as before", "режим вызывающего кода прежний"),
    "in the caller's thread": Text("the model ran in the caller's thread", "модель вызвана в потоке вызывающего кода"),
    "ended": Text("all threads have ended", "все потоки завершены"),
    "outputs": Text("outputs", "выходы"),
    "raised": Text("an exception was raised", "возникло исключение"),
    "own": Text("it is the model's own exception", "это исключение самой модели"),
    "numbers read": Text("a number of an ordinary tensor was read", "число прочитано из обычного тензора"),
    "runs on fake": Text("the function runs on a fake tensor", "функция выполняется на фиктивном тензоре"),
    "same operations on fake": Text(
        "it runs the same operations on a fake tensor", "на фиктивном тензоре функция выполняет те же операции"
    ),
    "numbers": Text("numbers", "чисел"),
    "from 0.1 to 10": Text("each from 0.1 to 10", "каждое от 0.1 до 10"),
    "requires grad": Text("the result requires grad", "результат требует градиента"),
    "derivative by mu": Text("derivative by `mu`", "производная по `mu`"),
    "derivative by log_std": Text(
        "derivative by `log_std`, divided by the distance from `mu`",
        "производная по `log_std`, делённая на отклонение от `mu`",
    ),
    "differs from mu": Text("every entry differs from `mu`", "каждый элемент отличается от `mu`"),
    "mean": Text("mean", "среднее"),
    "calls of hooks": Text("calls of the hooks", "вызовов хуков"),
    "gradients in hooks": Text("what the hooks were called with", "с чем вызваны хуки"),
    "results are gone": Text("all results are gone from memory", "всех результатов в памяти больше нет"),
    "results in eval": Text("results in `eval()`", "результаты в режиме `eval()`"),
    "inputs are forgotten": Text("a freed root has forgotten its inputs", "освобождённый корень забыл свои входы"),
    "second pass": Text("a second pass", "второй проход"),
    "second pass with retain_graph": Text(
        "a second pass, with `retain_graph=True`", "второй проход, с `retain_graph=True`"
    ),
    "pass through a freed result": Text("a pass through a freed result", "проход через освобождённый результат"),
    "hooks get values": Text("every hook gets a value", "каждый хук получает значение"),
    "root with two dimensions": Text(
        "the shape is right behind a root of shape (1, 1)", "у градиентов от корня формы (1, 1) верная форма"
    ),
    "gradients in float64": Text("all gradients are float64", "все градиенты имеют тип float64"),
    "data stays": Text("all `data` stays the same", "все `data` прежние"),
    "results without a gradient": Text("`.grad` of all results is None", "`.grad` всех результатов — None"),
    "parameters missing": Text("parameters missing", "недостаёт параметров"),
    "other tensors": Text("tensors that are no parameters", "тензоров, которые не являются параметрами"),
    "parameters given twice": Text("parameters given twice", "параметров, переданных дважды"),
    "has a graph": Text("the result has a graph", "у результата есть граф"),
    "model's grad is there": Text(
        "every parameter still has its `.grad`", "у каждого параметра по-прежнему есть `.grad`"
    ),
    "model's grad stays": Text(
        "`.grad` of the model's parameters stays the same", "`.grad` параметров модели не меняется"
    ),
    "is SGD": Text("an SGD optimizer", "оптимизатор — SGD"),
    "standard normal": Text("the noise is standard normal", "у шума стандартное нормальное распределение"),
    "entries differ": Text("the entries have different noise", "у элементов разный шум"),
    "calls differ": Text("two calls give different noise", "два вызова дают разный шум"),
    "kind": Text("the kind of the state", "вид состояния"),
    "passed x stays": Text("the `x` that was passed stays the same", "переданный тензор `x` не меняется"),
    "passed x requires grad": Text("the `x` that was passed requires grad", "переданный тензор `x` требует градиента"),
    "one length, first example": Text(
        "in the first example all lengths are equal, 2 or more", "в первом примере все длины равны и не меньше 2"
    ),
    "one length, second example": Text(
        "in the second example all lengths are equal, 2 or more", "во втором примере все длины равны и не меньше 2"
    ),
    "same at each call, first example": Text(
        "in the first example the same at each call", "в первом примере при каждом вызове одно и то же"
    ),
    "same at each call, second example": Text(
        "in the second example the same at each call", "во втором примере при каждом вызове одно и то же"
    ),
    "no error, first example": Text(
        "in the first example `swapped` raises no error", "в первом примере `swapped` выполняется без ошибки"
    ),
    "no error, second example": Text(
        "in the second example `swapped` raises no error", "во втором примере `swapped` выполняется без ошибки"
    ),
    "values of the other call": Text("values of the other call", "значения при другом вызове"),
    "same gradients after another call": Text(
        "the same gradients after another call", "после другого вызова градиенты те же"
    ),
    "logits require grad": Text("`logits` requires grad", "`logits` требует градиента"),
    "values are finite": Text("the values are finite", "значения конечны"),
    "slopes are finite": Text("the slopes are finite", "наклоны конечны"),
    "same values at each call": Text("the values are the same at each call", "при каждом вызове значения одни и те же"),
    "relative error of autograd's derivative": Text(
        "relative error of autograd's derivative", "относительная ошибка производной, которую даёт autograd"
    ),
    "distance of the mean from the true derivative, relative": Text(
        "relative distance of the mean from the true derivative",
        "относительное отклонение среднего от истинной производной",
    ),
    "smallest mean, in units of the true derivative": Text(
        "the smallest mean, in units of the true derivative", "наименьшее среднее в единицах истинной производной"
    ),
    "class of the inputs": Text("a `Value`, as the inputs are", "`Value`, как и входы"),
    "holds its inputs": Text("holds its inputs", "хранит свои входы"),
    "in a walk inside no_recording()": Text(
        "gradients of a walk inside `no_recording()`", "градиенты при обходе внутри `no_recording()`"
    ),
    "gradients after the block": Text("gradients after the block", "градиенты после блока"),
    "result of a result": Text("a result computed from a result", "результат, вычисленный из результата"),
    "inputs edited before": Text("the inputs edited before the rule", "входы изменены до правила"),
    "the result edited": Text("the result edited", "результат изменён"),
    "the result edited by 0": Text("the result edited by 0", "результат изменён на 0"),
    "the result edited before and after": Text("the result edited before and after", "результат изменён до и после"),
    "the result edited inside no_recording()": Text(
        "the result edited inside `no_recording()`", "результат изменён внутри `no_recording()`"
    ),
    "their derivatives": Text("their derivatives", "их производные"),
}
_PATTERNS: tuple[tuple[str, Text], ...] = (
    (r"leaf (\d+)", Text(r"gradient of leaf \1", r"градиент листа \1")),
    (r"(.+) requires grad", Text(r"`\1` requires grad", r"`\1` требует градиента")),
    (r"gradient of (.+) after pass (\d+)", Text(r"gradient of `\1` after pass \2", r"градиент `\1` после прохода \2")),
    (r"(.+) after pass (\d+)", Text(r"`\1` after pass \2", r"`\1` после прохода \2")),
    (r"(.+) after window (\d+)", Text(r"`\1` after window \2", r"`\1` после окна \2")),
    (r"steps inside pass (\d+)", Text(r"there are steps inside pass \1", r"внутри прохода \1 делаются шаги")),
    (r"(.+) has grown", Text(r"`\1` has grown", r"`\1` вырос")),
    (r"(.+) is empty", Text(r"`\1` is None or zero", r"`\1` равен None или нулю")),
    (r"(.+) is as before", Text(r"`\1` is as before", r"`\1` прежний")),
    (r"after backward\(\) (.+)", Text(r"`\1` after `backward()`", r"`\1` после `backward()`")),
    (r"(.+) before backward\(\)", Text(r"`\1` before `backward()`", r"`\1` до `backward()`")),
    (r"(.+) under no_grad\(\)", Text(r"`\1` under `no_grad()`", r"`\1` внутри `no_grad()`")),
    (r"steps\.count\((.+)\)", Text(r"steps of `\1`", r"шагов `\1`")),
    (r"(.+) \((y \+ z|y, z|z, y)\)", Text(r"`\1` of `\2`", r"`\1` для `\2`")),
    (r"input (\d) edited", Text(r"input \1 edited", r"вход \1 изменён")),
    (r"input (\d) edited by 0", Text(r"input \1 edited by 0", r"вход \1 изменён на 0")),
    (r"input (\d) edited before and after", Text(r"input \1 edited before and after", r"вход \1 изменён до и после")),
    (
        r"input (\d) edited inside (.+)",
        Text(r"input \1 edited inside `\2`", r"вход \1 изменён внутри `\2`"),
    ),
)
_YES_NO = {"True": Text("yes", "да"), "False": Text("no", "нет")}


def measured_name(key: str) -> Text | None:
    """Return the name of a measurement, or None if `key` is code, such as `w.grad`."""
    if key in NAMES:
        return NAMES[key]
    for pattern, name in _PATTERNS:
        if re.fullmatch(pattern, key):
            return Text(*(re.sub(pattern, form, key) for form in name))
    return None


def yes_or_no(value: object) -> Text | None:
    """Return "yes" for "True" and "no" for "False", as on a card; None for anything else."""
    return _YES_NO.get(str(value))
