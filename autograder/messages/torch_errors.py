"""Explanations of torch's autograd errors and warnings, in English and Russian."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..language import Text


@dataclass(frozen=True)
class Explanation:
    """An explanation of a torch error or warning.

    `pattern` matches its text, `lesson` is the lesson on the subject, and `says` the explanation.
    """

    pattern: re.Pattern[str]
    lesson: str
    says: Text


def explain(error: str) -> Explanation | None:
    """Return the explanation for the text of an error or warning. Returns None if the course has none."""
    return next((each for each in EXPLANATIONS if each.pattern.search(error)), None)


def _means(pattern: str, lesson: str, en: str, ru: str) -> Explanation:
    return Explanation(re.compile(pattern), lesson, Text(en, ru))


# Patterns match only stable parts of a message: no addresses, sizes or line numbers. The first match counts.
EXPLANATIONS = (
    # -- 01: leaves and requires_grad ---------------------------------------------------------------------------
    _means(
        r"element \d+ of tensors does not require grad and does not have a grad_fn",
        "01_leaf_tensors",
        "The tensor to be differentiated has no graph behind it: nothing it was computed from requires grad, or the "
        "graph was cut by `detach()`, `no_grad()`, `.item()` or `torch.tensor(...)`.",
        "У тензора, который дифференцируют, нет графа: либо ни один из исходных тензоров не требует градиента, либо "
        "граф оборван вызовом `detach()`, `no_grad()`, `.item()` или `torch.tensor(...)`.",
    ),
    _means(
        r"One of the differentiated Tensors does not require grad",
        "01_leaf_tensors",
        "You asked for the gradient with respect to a tensor with `requires_grad=False`. Switch it on before the "
        "computation, with `requires_grad_()`.",
        "Запрошен градиент по тензору, у которого `requires_grad=False`. Включите отслеживание до вычислений: "
        "`requires_grad_()`.",
    ),
    _means(
        r"[Oo]nly Tensors of floating point (and complex )?dtype can require gradients",
        "01_leaf_tensors",
        "Only tensors of real or complex floating-point numbers can require grad, and this one holds integers or "
        "bools. Write `1.0` in place of `1`, or give `dtype=torch.float32`.",
        "Требовать градиента могут только тензоры с вещественными или комплексными числами с плавающей точкой, а в "
        "этом целые числа или bool. Напишите `1.0` вместо `1` или укажите `dtype=torch.float32`.",
    ),
    _means(
        r"you can only change requires_grad flags of leaf variables",
        "01_leaf_tensors",
        "This tensor is the result of a tracked computation (a non-leaf), so it requires grad whatever you set. "
        "`detach()` gives you the same values without the graph.",
        "Этот тензор получен в отслеживаемом вычислении (нелистовой), и выключить у него `requires_grad` нельзя. Те"
        " же значения без графа даёт `detach()`.",
    ),
    _means(
        r"can't optimize a non-leaf Tensor",
        "01_leaf_tensors",
        "The optimizer was given the result of an operation, not a leaf. Often a `.to(...)`, `.cuda()` or `* 0.1` "
        "after `requires_grad=True` is to blame: make the tensor first, call `requires_grad_()` last.",
        "Оптимизатору передан результат операции, а не листовой тензор. Часто виноваты `.to(...)`, `.cuda()` или `*"
        " 0.1` после `requires_grad=True`: сначала создайте тензор, а `requires_grad_()` вызовите последним.",
    ),
    _means(
        r"Can't call numpy\(\) on Tensor that requires grad",
        "01_leaf_tensors",
        "NumPy does not record operations, so torch will not let a tracked tensor leave the graph unnoticed. Write "
        "`t.detach().numpy()` to say that you mean it; the memory stays shared.",
        "NumPy не записывает операции, поэтому torch не даёт отслеживаемому тензору незаметно выйти из графа. "
        "Напишите `t.detach().numpy()`, чтобы сделать это явно; память останется общей.",
    ),
    _means(
        r"unsupported operand type\(s\) for .*'numpy\.ndarray' and '(Tensor|Parameter)'",
        "01_leaf_tensors",
        "A NumPy array and a tracked tensor do not mix. Turn the array into a tensor with `torch.from_numpy(...)`.",
        "Массив NumPy нельзя смешивать в одном выражении с отслеживаемым тензором. Превратите массив в тензор: "
        "`torch.from_numpy(...)`.",
    ),
    _means(
        r"Only Tensors created explicitly by the user .*support the deepcopy protocol",
        "01_leaf_tensors",
        "`deepcopy` copies leaves only: the copy of a non-leaf would hang on the same graph. Use "
        "`t.detach().clone()`, or `t.clone()` to stay in the graph.",
        "`deepcopy` копирует только листовые тензоры: копия нелистового осталась бы в том же графе. Возьмите "
        "`t.detach().clone()`, а чтобы остаться в графе — `t.clone()`.",
    ),
    _means(
        r"invalid combination of arguments.*requires_grad=bool",
        "01_leaf_tensors",
        "`torch.FloatTensor` and its kin know no `requires_grad`. Use `torch.zeros(..., requires_grad=True)` or "
        "`torch.tensor([...], requires_grad=True)`.",
        "У `torch.FloatTensor` и подобных нет аргумента `requires_grad`. Возьмите `torch.zeros(..., "
        "requires_grad=True)` или `torch.tensor([...], requires_grad=True)`.",
    ),
    _means(
        r"The \.grad attribute of a Tensor that is not a leaf Tensor is being accessed",
        "01_leaf_tensors",
        "This tensor is the result of an operation, and `backward()` stores gradients in leaves only: its `.grad` is "
        "None. Call its `retain_grad()` before `backward()`, or read `.grad` of the leaf that it was computed from.",
        "Этот тензор — результат операции, а `backward()` записывает градиенты только в листовые тензоры, поэтому "
        "здесь `.grad` равен None. Вызовите у него `retain_grad()` до `backward()` или прочитайте `.grad` того листа, "
        "из которого он получен.",
    ),
    # -- 02: the graph and backward -----------------------------------------------------------------------------
    _means(
        r"Trying to backward through the graph a second time",
        "02_graph_and_backward",
        "The first `backward()` freed what this graph had saved. Compute the forward pass again, or keep the graph "
        "on purpose with `retain_graph=True`; a value kept from the previous step drags its old graph along too.",
        "Первый `backward()` освободил всё, что сохранил этот граф. Повторите прямой проход или сохраните граф "
        "намеренно: `retain_graph=True`. Значение с прошлого шага тоже тянет за собой свой старый граф.",
    ),
    _means(
        r"[Oo]ne of the differentiated Tensors appears to not have been used"
        r"|differentiated Tensor at index \d+ appears to not have been used",
        "02_graph_and_backward",
        "The result does not depend on this tensor: it was replaced by a copy, or computed with before it required "
        "grad. If that is meant, `allow_unused=True` gives None for it.",
        "Результат не зависит от этого тензора: вычисления шли с его копией или до того, как он стал требовать "
        "градиента. Если так и задумано, `allow_unused=True` вернёт для него None.",
    ),
    _means(
        r"Function '\w+' returned nan values in its \d+th output",
        "02_graph_and_backward",
        "Anomaly detection has found the node whose derivative is NaN: often a square root, a logarithm or a "
        "division at 0. A `where` behind it does not help, the value going in must be mended.",
        "Режим обнаружения аномалий нашёл узел, производная которого равна NaN: часто это корень, логарифм или "
        "деление на 0. `where` после него не поможет, исправлять нужно значение на входе.",
    ),
    _means(
        r"'(float|int)' object has no attribute 'backward'",
        "02_graph_and_backward",
        "This is a plain Python number, not a tensor: `.item()` or `float()` took it out of the graph.",
        "Это обычное число Python, а не тензор: из графа его вывели `.item()` или `float()`.",
    ),
    _means(
        r"'NoneType' object has no attribute '(next_functions|name|register_hook|register_prehook|metadata"
        r"|_saved_\w+)'",
        "02_graph_and_backward",
        "Here stands None in place of a node. A leaf has `grad_fn` None, and so has every tensor computed without "
        "gradient tracking.",
        "На месте узла графа стоит None. У листового тензора `grad_fn` равен None, как и у любого тензора, "
        "вычисленного без отслеживания.",
    ),
    # -- 03: accumulation ---------------------------------------------------------------------------------------
    _means(
        r"'NoneType' object has no attribute '(zero_|mul_|add_|div_|copy_|clone|detach|norm|abs|mean|sum|item"
        r"|data|shape)'",
        "03_gradient_accumulation",
        "There is None where a tensor was expected. If it is `.grad`: it is None until the first `backward()` and "
        "again after `zero_grad()`, which by default puts None there, not zeros.",
        "Вместо тензора стоит None. Если это `.grad`: он равен None до первого `backward()` и снова после "
        "`zero_grad()`, который по умолчанию кладёт туда None, а не нули.",
    ),
    _means(
        r"unsupported operand type\(s\) for .*'NoneType'",
        "03_gradient_accumulation",
        "One of the two operands is None. If it is `.grad`: no `backward()` has reached this tensor since "
        "`zero_grad()`, or the tensor is not a leaf.",
        "Один из операндов равен None. Если это `.grad`: после `zero_grad()` ни один `backward()` до этого тензора "
        "не дошёл, либо тензор не листовой.",
    ),
    _means(
        r"unscale_\(\) has already been called on this optimizer",
        "03_gradient_accumulation",
        "Gradients are unscaled once per accumulation window: one `unscale_()` before clipping, then `step()` and "
        "`update()`.",
        "Масштаб снимают с градиентов один раз за окно накопления: один `unscale_()` перед отсечением, затем "
        "`step()` и `update()`.",
    ),
    _means(
        r"No inf checks were recorded for this optimizer",
        "03_gradient_accumulation",
        "The scaler found no gradient to step with: `scaler.scale(loss).backward()` has to come before "
        "`scaler.step(optimizer)`.",
        "Объект `scaler` не нашёл ни одного градиента: до `scaler.step(optimizer)` нужно выполнить "
        "`scaler.scale(loss).backward()`.",
    ),
    _means(
        r"attempting to assign a gradient (of size|with dtype)"
        r"|assigned grad (has data of a different|expected to be a)",
        "03_gradient_accumulation",
        "`.grad` takes a tensor of the same shape, dtype and device as its owner, or None.",
        "В `.grad` можно положить только тензор той же формы, того же dtype и на том же устройстве, что и его "
        "владелец, или None.",
    ),
    # -- 04: products with the Jacobian -------------------------------------------------------------------------
    _means(
        r"grad can be implicitly created only for (real )?scalar outputs",
        "04_jacobian_products",
        "From a result with several entries `backward()` needs a vector v, one factor for each entry: reduce the"
        " result to one number (`sum()`, `mean()`), or give `backward(v)` a v of the result's shape.",
        "Если в результате несколько элементов, `backward()` нужен вектор v, по коэффициенту на каждый элемент: "
        "сведите результат к одному числу (`sum()`, `mean()`) или передайте `backward(v)`, где у v форма результата.",
    ),
    _means(
        r"Mismatch in shape: grad_output\[\d+\]|v has invalid size",
        "04_jacobian_products",
        "In vᵀJ the vector v has the shape of the output, not that of the input.",
        "В произведении vᵀJ вектор v имеет форму выхода, а не входа.",
    ),
    _means(
        r"Trying to set a forward gradient that has a different size",
        "04_jacobian_products",
        "In Jv the tangent v has the shape of the input, not that of the output.",
        "В произведении Jv касательный вектор v имеет форму входа, а не выхода.",
    ),
    _means(
        r"Expected f\(\*args\) to return a scalar"
        r"|given to hessian should contain a single element"
        r"|vector v can only be None if the user-provided function",
        "04_jacobian_products",
        "A gradient and a Hessian matrix exist for a function that returns one number. For several numbers take "
        "`jacrev`, `jacobian` or a product with a vector.",
        "Градиент и матрица Гессе есть у функции, которая возвращает одно число. Для нескольких чисел возьмите "
        "`jacrev`, `jacobian` или произведение с вектором.",
    ),
    _means(
        r"calling \.item\(\) on a Tensor|data-dependent control flow",
        "04_jacobian_products",
        "`vmap` runs the function for all samples at once, so no single value is there to look at: no `.item()` and"
        " no `if` on a tensor. `torch.where` can choose.",
        "`vmap` выполняет функцию сразу для всех примеров, и отдельного значения в ней нет: ни `.item()`, ни `if` "
        "по тензору не сработают. Для выбора есть `torch.where`.",
    ),
    _means(
        r"Tensor\.requires_grad_\(\).*inside of a function being transformed",
        "04_jacobian_products",
        "Inside `torch.func` transforms tracking is switched on for you: leave `requires_grad_()` and `backward()` "
        "out, and return the value.",
        "Внутри преобразований `torch.func` отслеживание уже включено: уберите `requires_grad_()` и `backward()` и "
        "верните значение.",
    ),
    _means(
        r"Jacobian mismatch for output",
        "04_jacobian_products",
        "The derivative by backward and the one by finite differences disagree: `analytical` is what backward says,"
        " `numerical` what the function does. Check in float64 and away from kinks.",
        "Производная, которую даёт обратный проход, не совпала с конечными разностями: `analytical` — ответ "
        "обратного прохода, `numerical` — поведение самой функции. Проверяйте в float64 и вдали от изломов.",
    ),
    _means(
        r"gradcheck expects at least one input tensor to require gradient",
        "04_jacobian_products",
        "There is nothing to check: give `gradcheck` a float64 tensor made with `requires_grad=True`.",
        "Проверять нечего: передайте в `gradcheck` тензор float64, у которого `requires_grad=True`.",
    ),
    _means(
        r"vmap: called random operation while in randomness error mode",
        "04_jacobian_products",
        '`vmap` has to be told what chance means here: `randomness="different"` for every sample its own, '
        '`randomness="same"` one for all.',
        '`vmap` нужно указать, как быть со случайностью: `randomness="different"` — у каждого примера своя, '
        '`randomness="same"` — одна на всех.',
    ),
    # -- 05: modes and changes in place -------------------------------------------------------------------------
    _means(
        r"a view of a leaf Variable that requires grad is being used in an in-place operation",
        "05_grad_modes_and_in_place",
        "You write into a part of a leaf that requires grad (`w[0] = ...`). Do it under `torch.no_grad()` when it "
        "is an update, or on a `clone()` when it belongs to the computation.",
        "Вы записываете в часть листового тензора, который требует градиента (`w[0] = ...`). Если это обновление, "
        "сделайте его внутри `torch.no_grad()`, а если часть вычисления — над `clone()`.",
    ),
    _means(
        r"a leaf Variable that requires grad is being used in an in-place operation",
        "05_grad_modes_and_in_place",
        "A leaf that requires grad cannot be changed in place while tracking is on. Update it under "
        "`torch.no_grad()`. Inside a computation use an operation that makes a new tensor: `v = w + 1`.",
        "Листовой тензор, который требует градиента, нельзя изменять на месте, пока включено отслеживание. "
        "Обновляйте его внутри `torch.no_grad()`. Внутри вычисления нужна операция, которая создаёт новый тензор: "
        "`v = w + 1`.",
    ),
    _means(
        r"one of the variables needed for gradient computation has been modified by an inplace operation",
        "05_grad_modes_and_in_place",
        "Backward needs a value that was overwritten after it was saved; the version counters differ. Look for "
        "`+=`, `x[...] = ` or `optimizer.step()` between the forward pass and `backward()`.",
        "Обратному проходу нужно значение, которое изменили на месте после сохранения: счётчики версий разошлись. "
        "Ищите `+=`, `x[...] = ` или `optimizer.step()` между прямым проходом и `backward()`.",
    ),
    _means(
        r"is a view and is being modified inplace\. This view is the output of a function that returns multipl"
        r"e views",
        "05_grad_modes_and_in_place",
        "`unbind`, `split` and `chunk` give several views at once, and such views cannot be changed in place. Index"
        " the tensor (`x[0]`) or make a new tensor.",
        "`unbind`, `split` и `chunk` возвращают сразу несколько представлений, и изменять такие на месте нельзя. "
        "Обратитесь по индексу (`x[0]`) или создайте новый тензор.",
    ),
    _means(
        r"A view was created in no_grad mode and is being modified inplace with grad mode enabled",
        "05_grad_modes_and_in_place",
        "The view was taken under `no_grad()` and changed outside of it, so torch cannot tell whether to track it. "
        "Do both inside, or both outside.",
        "Представление создано внутри `no_grad()`, а изменено вне его, и torch не может решить, отслеживать ли "
        "изменение. Делайте и то и другое внутри либо и то и другое снаружи.",
    ),
    _means(
        r"Inference tensors cannot be saved for backward"
        r"|on inference tensor outside InferenceMode"
        r"|update to inference tensor outside InferenceMode",
        "05_grad_modes_and_in_place",
        "A tensor made under `inference_mode()` can never take part in a tracked computation. `clone()` it outside,"
        " or use `no_grad()` instead.",
        "Тензор, созданный внутри `inference_mode()`, не может участвовать в отслеживаемом вычислении. Сделайте "
        "снаружи `clone()` или возьмите `no_grad()`.",
    ),
    _means(
        r"cannot resize variables that require grad|Can't detach views in-place",
        "05_grad_modes_and_in_place",
        "This operation would pull the memory out from under the graph. Make a new tensor: `reshape`, `detach()`, "
        "`clone()`.",
        "Эта операция изменила бы тензор, на который опирается граф. Создайте новый тензор: `reshape`, `detach()`, "
        "`clone()`.",
    ),
    _means(
        r"functions with out=\.\.\. arguments don't support automatic differentiation",
        "05_grad_modes_and_in_place",
        "`out=` writes over a tensor, and autograd cannot record that. Leave `out=` out, or work under `no_grad()`.",
        "`out=` перезаписывает тензор, и autograd не может этого учесть. Уберите `out=` или работайте внутри "
        "`no_grad()`.",
    ),
    # -- 06: saved tensors --------------------------------------------------------------------------------------
    _means(
        r"A saved tensor pack hook is modifying its input in place",
        "06_saved_tensors",
        "The pack hook is given the very tensor that the computation goes on with. Return something new, and leave "
        "the argument as it is.",
        "Хук упаковки получает тот самый тензор, с которым идут вычисления. Верните новый объект, а аргумент не "
        "изменяйте.",
    ),
    _means(
        r"Output of saved tensor unpack_hook expected to be a Tensor",
        "06_saved_tensors",
        "The unpack hook must give back a tensor, and not what `pack` made of it.",
        "Хук распаковки должен вернуть тензор, а не то, что вернула функция `pack`.",
    ),
    _means(
        r"Calling register_hooks on a saved tensor",
        "06_saved_tensors",
        "A saved tensor takes one pair of hooks, once, and only while it is held.",
        "У сохранённого тензора может быть одна пара хуков; её задают один раз и пока он не освобождён.",
    ),
    _means(
        r"A different number of tensors was saved during the original forward and recomputation"
        r"|Recomputed values for the following tensors have different metadata",
        "06_saved_tensors",
        "Under `checkpoint` the function runs a second time, and this time it did something else. It may depend "
        "only on its arguments: no counters, no changing globals.",
        "Внутри `checkpoint` функция выполняется второй раз, и во второй раз она сделала не то же самое. Она может "
        "зависеть только от аргументов: никаких счётчиков и изменяемых глобальных переменных.",
    ),
    _means(
        r"None of the inputs have requires_grad=True\. Gradients will be None",
        "06_saved_tensors",
        "A checkpoint with `use_reentrant=True` is part of the graph only if one of its inputs requires grad; the "
        "parameters inside do not count, and get no gradient. Write `use_reentrant=False`.",
        "Контрольная точка с `use_reentrant=True` попадает в граф, только если градиента требует хотя бы один из её "
        "входов; параметры внутри не в счёт, и градиента у них не будет. Напишите `use_reentrant=False`.",
    ),
    # -- 07: custom functions -----------------------------------------------------------------------------------
    _means(
        r"Legacy autograd function with non-static forward method",
        "07_custom_functions",
        "Make `forward` and `backward` a `@staticmethod` with `ctx` as first argument, and call "
        "`MyFunction.apply(x)`, not `MyFunction()(x)`.",
        "Сделайте `forward` и `backward` статическими (`@staticmethod`) с первым аргументом `ctx` и вызывайте "
        "`MyFunction.apply(x)`, а не `MyFunction()(x)`.",
    ),
    _means(
        r"returned an incorrect number of gradients",
        "07_custom_functions",
        "`backward` returns one gradient for every argument of `forward` after `ctx`: None for those that need none.",
        "`backward` возвращает по одному градиенту на каждый аргумент `forward` после `ctx`: None там, где он не "
        "нужен.",
    ),
    _means(
        r"returned an invalid gradient at index \d+ - ",
        "07_custom_functions",
        "A gradient has the shape of the input it belongs to, or a shape that broadcasting makes of it: then autograd "
        "sums it down itself.",
        "Градиент имеет форму того входа, к которому относится, или форму, в которую этот вход растянуло бы "
        "транслирование: тогда autograd просуммирует его сам.",
    ),
    _means(
        r"expected Variable or None \(got",
        "07_custom_functions",
        "`backward` returns tensors or None, not Python numbers.",
        "`backward` возвращает тензоры или None, но не числа Python.",
    ),
    _means(
        r"save_for_backward can only save variables",
        "07_custom_functions",
        "`save_for_backward` is for tensors. Put a number on the context itself: `ctx.k = k`.",
        "`save_for_backward` предназначен для тензоров. Число положите прямо в контекст: `ctx.k = k`.",
    ),
    _means(
        r"You must implement (either the backward or vjp method"
        r"|the jvp function) for (your )?custom autograd\.Function",
        "07_custom_functions",
        "This Function does not say how it is differentiated in this direction: reverse mode calls `backward`, "
        "forward mode calls `jvp`.",
        "У этой функции не определена производная в этом направлении: обратный режим вызывает `backward`, а прямой "
        "— `jvp`.",
    ),
    _means(
        r"In order to use an autograd\.Function with functorch transforms",
        "07_custom_functions",
        "For `torch.func` split `forward(ctx, x)` in two: `forward(x)` computes, `setup_context(ctx, inputs, "
        "output)` saves.",
        "Для `torch.func` разделите `forward(ctx, x)` на две части: `forward(x)` вычисляет, а `setup_context(ctx, "
        "inputs, output)` сохраняет.",
    ),
    _means(
        r"Some elements marked as dirty during the forward method were not returned as output",
        "07_custom_functions",
        "`mark_dirty` is for an input that `forward` changed in place, and then `forward` must return that very "
        "tensor.",
        "`mark_dirty` отмечает вход, который `forward` изменил на месте, и тогда `forward` обязан вернуть этот же "
        "тензор.",
    ),
    _means(
        r"trying to differentiate twice a function that was marked with @once_differentiable",
        "07_custom_functions",
        "Its author has declared that `backward` of this function cannot itself be differentiated. For a second "
        "derivative `backward` has to be written with differentiable operations and without `@once_differentiable`.",
        "Автор этой функции объявил, что её `backward` продифференцировать нельзя. Для второй производной `backward` "
        "пишут из дифференцируемых операций и без `@once_differentiable`.",
    ),
    # -- 10: derivatives of derivatives ---------------------------------------------------------------------------
    _means(
        r"derivative for aten::\w+_backward is not implemented|the derivative for '\w+_backward' is not implemented",
        "10_higher_order",
        "The operation has a derivative, but no second one. For attention allow the plain formula alone in the forward "
        "pass: `with sdpa_kernel(SDPBackend.MATH)`.",
        "У операции есть производная, но второй производной нет. Для внимания разрешите в прямом проходе только обычную "
        "формулу: `with sdpa_kernel(SDPBackend.MATH)`.",
    ),
    _means(
        r"batching operators that can (support|output) dynamic shape",
        "10_higher_order",
        "The size of this result depends on the numbers, and under `vmap` each sample would have another size. Use "
        "`torch.where` instead of `x[x > 0]` or `nonzero()`.",
        "Размер этого результата зависит от самих чисел, и внутри `vmap` у каждого примера он был бы свой. Вместо "
        "`x[x > 0]` или `nonzero()` используйте `torch.where`.",
    ),
    _means(
        r"vmap: inplace arithmetic",
        "10_higher_order",
        "Under `vmap` a batch is written into a tensor that has no place for one, such as `torch.zeros(...)`. Make the "
        "tensor with `x.new_zeros(...)`, or compute out of place.",
        "Внутри `vmap` целый батч записывается в тензор, где для него нет места, например в `torch.zeros(...)`. Создайте "
        "тензор через `x.new_zeros(...)` или вычисляйте без изменения на месте.",
    ),
    _means(
        r"running_mean or running_var, which will be updated in place"
        r"|attempted to call in-place operation .* that would mutate a captured Tensor",
        "10_higher_order",
        "`torch.func` runs functions without side effects, and this one changes a tensor from outside, often the running "
        "statistics of `BatchNorm`. Use `eval()` or `torch.func.replace_all_batch_norm_modules_(model)`.",
        "Функции, которые выполняет `torch.func`, не должны менять внешние тензоры, а эта меняет — часто это статистики "
        "`BatchNorm`. Используйте `eval()` или `torch.func.replace_all_batch_norm_modules_(model)`.",
    ),
    _means(
        r"ZeroTensors are immutable",
        "10_higher_order",
        "torch cannot run this backward pass in forward mode: `jvp` of `grad` meets a zero that it may not write to. Take "
        "two backward passes instead, or write the loss in plain operations, such as `(a - b).square().mean()`.",
        "torch не может выполнить этот обратный проход в прямом режиме: в `jvp` от `grad` встречается нуль, в который "
        "нельзя писать. Сделайте два обратных прохода или запишите функцию потерь обычными операциями, например "
        "`(a - b).square().mean()`.",
    ),
    _means(
        r"input_is_complex == grad_is_complex",
        "10_higher_order",
        "`backward` of a custom Function returned a complex gradient for a real input. Return its real part: "
        "`gradient.real`.",
        "Метод `backward` пользовательской функции вернул комплексный градиент для вещественного входа. Верните "
        "вещественную часть: `gradient.real`.",
    ),
    _means(
        r"does not support sparse gradients",
        "10_higher_order",
        "This optimizer changes every row in every step. For sparse gradients there are `SGD`, `Adagrad` and "
        "`SparseAdam`.",
        "Этот оптимизатор на каждом шаге меняет все строки. Для разреженных градиентов есть `SGD`, `Adagrad` и "
        "`SparseAdam`.",
    ),
    # -- 08: hooks on gradients ---------------------------------------------------------------------------------
    _means(
        r"cannot register a hook on a tensor that doesn't require gradient"
        r"|can't retain_grad on Tensor that has requires_grad=False",
        "08_gradient_hooks",
        "No gradient will ever come to this tensor: it does not require grad.",
        "К этому тензору градиент никогда не придёт: у него `requires_grad=False`.",
    ),
    _means(
        r"hook '.*' has changed the (size|type) of value|expected Variable, but hook returned",
        "08_gradient_hooks",
        "A hook returns None, or a new gradient of the same shape and dtype.",
        "Хук возвращает None или новый градиент той же формы и с тем же dtype.",
    ),
    _means(
        r"post accumulate grad hooks cannot be registered on non-leaf tensors",
        "08_gradient_hooks",
        "Gradients are accumulated in leaves only. On a non-leaf use `register_hook`.",
        "Градиенты накапливаются только в листовых тензорах. Для нелистового возьмите `register_hook`.",
    ),
    _means(
        r"Output \d+ of BackwardHookFunction\w* is a view and is being modified inplace",
        "08_gradient_hooks",
        "A full backward hook of a module and an in-place change of what the module takes or returns exclude each "
        "other. Write `inplace=False`, or register a tensor hook on the output in a forward hook.",
        "Полный обратный хук модуля несовместим с изменением его входа или выхода на месте. Напишите `inplace=False` "
        "или поставьте хук на выходной тензор в прямом хуке.",
    ),
    _means(
        r"Cannot use both regular backward hooks and full backward hooks",
        "08_gradient_hooks",
        "This module already has a hook of the other kind. Use `register_full_backward_hook` for all.",
        "У этого модуля уже есть хук другого вида. Для всех используйте `register_full_backward_hook`.",
    ),
    _means(
        r"Expected to have finished reduction in the prior iteration",
        "08_gradient_hooks",
        "In the pass before this one some parameter got no gradient, so its bucket was never sent and gradients were "
        "not averaged. Find the parameter, or pass `find_unused_parameters=True`.",
        "В прошлом проходе какой-то параметр не получил градиента, поэтому его корзина не отправлена и градиенты не "
        "усреднены. Найдите этот параметр или укажите `find_unused_parameters=True`.",
    ),
    _means(
        r"Expected to mark a variable ready only once",
        "08_gradient_hooks",
        "The hook of one parameter ran twice in one pass, often because of checkpoints: write `use_reentrant=False`.",
        "Хук одного параметра сработал за один проход дважды, часто из-за контрольных точек: напишите "
        "`use_reentrant=False`.",
    ),
    _means(
        r"Using backward\(\) with create_graph=True will create a reference cycle",
        "10_higher_order",
        "`.grad` now holds the graph of the gradient, and this graph holds the parameter: a cycle that keeps memory. "
        "Take the gradient with `torch.autograd.grad(..., create_graph=True)`, or set `.grad` to None afterwards.",
        "`.grad` теперь удерживает граф градиента, а этот граф — параметр: из-за такого цикла память не "
        "освобождается. Возьмите градиент через `torch.autograd.grad(..., create_graph=True)` или потом присвойте "
        "`.grad` значение None.",
    ),
    # -- 11: capstones --------------------------------------------------------------------------------------------
    _means(
        r"Attempting to unscale FP16 gradients",
        "11_capstones",
        "The weights themselves are float16. In mixed precision they stay float32, and `autocast` chooses the lower"
        " precision for each operation.",
        "Сами веса хранятся в float16. При смешанной точности они остаются в float32, а пониженную точность для "
        "каждой операции выбирает `autocast`.",
    ),
    _means(
        r"none of output has requires_grad=True, this checkpoint\(\) is not necessary",
        "11_capstones",
        "Nothing inside this checkpoint requires grad: the block is frozen. Write `use_reentrant=False`, or run a frozen "
        "block without a checkpoint.",
        "Внутри этой контрольной точки ничто не требует градиента: блок заморожен. Напишите `use_reentrant=False` или "
        "выполняйте замороженный блок без контрольной точки.",
    ),
)
