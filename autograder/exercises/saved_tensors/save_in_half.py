"""Core exercise: hooks that save tensors in half precision."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import leaf, uniform
from autograder.checking.labels import BYTES_IN_MEMORY, BYTES_LEFT
from autograder.checking.observe import using_answer
from autograder.checking.values import AtMost, canonical, compare
from autograder.language import Text
from autograder.measure import CountedCalls

from .common import Function, Using, bytes_held, gradient, running_with_hooks
from .half_bytes import bytes_in_half, bytes_of_copies, is_wide


def _scale(count: int) -> Tensor:
    return torch.linspace(1, 2, count, dtype=torch.float64)


@exercise(
    title=Text("Half the bytes", "Вдвое меньше байтов"),
    kind="complete",
    core=True,
    difficulty=2,
    minutes=12,
    shows_graph=True,
    rtol=1e-9,
    aspects=[
        aspect(
            "result",
            0,
            en="What comes back is `f(x)`: the same numbers, the same dtype. `f` is called once, and the hooks are off "
            "afterwards.",
            ru="Возвращается `f(x)`: те же числа, тот же dtype. Функция `f` вызвана один раз, а после возврата хуки "
            "выключены.",
        ),
        aspect(
            "bytes",
            1,
            en="While the graph lives, its float32 and float64 tensors take two bytes per entry (bytes in memory, the "
            "result of `f` included).",
            ru="Пока граф жив, его тензоры float32 и float64 занимают по два байта на элемент (байты в памяти вместе с "
            "результатом `f`).",
            measured=BYTES_IN_MEMORY,
        ),
        aspect(
            "gradient",
            2,
            en="The gradient is computed in the original dtypes, from saved numbers rounded to float16; indices and "
            "masks are intact.",
            ru="Градиент вычислен в исходных dtype по сохранённым числам, округлённым до float16; индексы и маски не "
            "искажены.",
            after=("result", "bytes"),
        ),
        aspect(
            "left",
            1,
            en="When the result is dropped without a backward pass, nothing stays in memory (bytes left).",
            ru="Если результат отброшен без обратного прохода, в памяти ничего не остаётся (осталось в памяти, байт).",
            after=("result", "bytes"),
            measured=BYTES_LEFT,
        ),
    ],
    hints=[
        Text(
            "What does `unpack` have to know about a tensor besides its numbers?",
            "Что, кроме самих чисел, `unpack` должен знать о тензоре?",
        ),
        Text(
            "`pack` may return a tuple: the half tensor and the dtype. `t.half()` of a float16 tensor is that tensor "
            "itself; what is kept as it is has to be detached.",
            "`pack` может вернуть кортеж: тензор float16 и исходный dtype. `t.half()` для тензора float16 возвращает "
            "его же; то, что хранится как есть, нужно отсоединить.",
        ),
        Text(
            "`def pack(t): ... return t.detach().half(), t.dtype` for two dtypes, `t.detach(), t.dtype` for the rest; "
            "`def unpack(packed): half, dtype = packed ...`; then `with saved_tensors_hooks(pack, unpack): return f(x)`.",
            "`def pack(t): ... return t.detach().half(), t.dtype` для двух dtype, `t.detach(), t.dtype` для остальных; "
            "`def unpack(packed): half, dtype = packed ...`; затем `with saved_tensors_hooks(pack, unpack): return "
            "f(x)`.",
        ),
    ],
)
def save_in_half(answer: Any, case: Case) -> dict[str, object]:
    run = answer.save_in_half
    known = [case.x, *case.f.constants]
    f, later = CountedCalls(case.f), torch.ones(2, requires_grad=True)
    with using_answer():
        y = run(f.function, case.x)
        copies = bytes_of_copies(y, case.f.constants)
    has_graph = isinstance(y, Tensor) and y.requires_grad
    result = y.detach().clone() if isinstance(y, Tensor) else y
    off = later.sin().grad_fn._saved_self is later  # type: ignore[union-attr]
    with using_answer():
        found = gradient(y, case.x)
    limit, exact = bytes_in_half(case.f, case.x, known)
    del y
    with using_answer():
        used, left = bytes_held(lambda: run(case.f, case.x))
    return {
        "result": {"f(x)": result, "calls of f": f.times, "the hooks are off": off},
        "bytes": AtMost(limit, used + copies),
        "gradient": found,
        "left": left,
        "used": used,
        "has_graph": has_graph,
        "is_exact": compare(canonical(exact), canonical(found), rtol=1e-9) is None,
    }


@save_in_half.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    index = 2049 + 2 * torch.randint(0, 200, (40,), generator=rng)  # odd numbers that float16 cannot represent
    gathered = Using("x[index].sin().double().sin()", lambda x: x[index].sin().double().sin(), index)
    yield Case(f=gathered, x=uniform(rng, 2500).float().requires_grad_())
    chosen = Using("where(x > 1.5, x.exp(), x.sin())", lambda x: torch.where(x > 1.5, x.exp(), x.sin()))
    yield Case(f=chosen, x=leaf(rng, 7, 9))
    text = "(x.exp().sigmoid().bfloat16() * 1e5).square() * 1e-10"  # in the range of bfloat16, but not of float16
    narrow = Using(text, lambda x: (x.exp().sigmoid().bfloat16() * 1e5).square() * 1e-10)
    yield Case(f=narrow, x=uniform(rng, 50).half().requires_grad_())
    W = uniform(rng, 3, 2)
    text = "((x.double() @ W).sin() * linspace(1, 2, 2)).sum().sin().float().sin()"  # saves single numbers, too
    mixed = Using(text, lambda x: ((x.double() @ W).sin() * _scale(2)).sum().sin().float().sin(), W)
    yield Case(f=mixed, x=uniform(rng, 2, 3).float().requires_grad_())


def _restore(packed: Any) -> Tensor:
    return packed[0].to(packed[1])  # type: ignore[no-any-return]


def _packing(pack: Callable[[Tensor], Tensor]) -> Callable[[Function, Tensor], Tensor]:
    """Return an answer that packs each tensor as `pack` does, and restores its dtype."""
    return running_with_hooks(lambda t: (pack(t), t.dtype), _restore)


def _half(t: Tensor) -> Tensor:
    return t.detach().half() if is_wide(t) else t.detach()


@save_in_half.mistake(
    en="`f` did not run inside `with saved_tensors_hooks(...)`: what it saves is kept as it is.",
    ru="Функция `f` выполнена не внутри `with saved_tensors_hooks(...)`: сохранённое хранится как есть.",
)
def defines_the_hooks_only(f: Function, x: Tensor) -> Tensor:
    return f(x)


@save_in_half.mistake(
    en="The result was returned without its graph: `f` ran under `no_grad()`, or the result was detached.",
    ru="Результат возвращён без графа: либо функция `f` выполнена внутри `no_grad()`, либо результат отсоединён от "
    "графа.",
)
def returns_no_graph(f: Function, x: Tensor) -> Tensor:
    return f(x).detach()


@save_in_half.mistake(
    en="Nothing was returned. The function has to return `f(x)`.",
    ru="Функция ничего не возвращает, а должна вернуть `f(x)`.",
)
def forgets_to_return(f: Function, x: Tensor) -> None:
    with saved_tensors_hooks(lambda t: (t.detach().half(), t.dtype), _restore):
        f(x)


@save_in_half.mistake(
    en="`f` is called twice, with the hooks and without them, or once for nothing. One call with the hooks is enough: "
    "its result is the one to return.",
    ru="Функция `f` вызывается дважды: с хуками и без них либо лишний раз впустую. Достаточно одного вызова с хуками: "
    "его результат и нужно вернуть.",
)
def calls_twice(f: Function, x: Tensor) -> Tensor:
    f(x)
    return _packing(_half)(f, x)


@save_in_half.mistake(
    en="The hooks stay on after your function has returned: they were switched on and never off. A `with` switches "
    "them off by itself.",
    ru="Хуки действуют и после возврата из функции: их включили и не выключили. Блок `with` выключает их сам.",
)
def leaves_the_hooks_on(f: Function, x: Tensor) -> Tensor:
    saved_tensors_hooks(lambda t: (_half(t), t.dtype), _restore).__enter__()
    return f(x)


@save_in_half.mistake(
    en="`x` itself was converted to float16 before `f` ran. The result is then a half too; only what is saved should "
    "be.",
    ru="Сам `x` переведён во float16 ещё до вызова `f`. Из-за этого и результат получается в половинной точности, а "
    "уменьшать нужно только то, что сохраняется.",
)
def computes_in_half(f: Function, x: Tensor) -> Tensor:
    return f(x.half()).to(x.dtype)


@save_in_half.mistake(
    en="`unpack` returns the float16 tensor. There is no error, but backward computes with it, and its result is "
    "rounded to float16 once more.",
    ru="Хук `unpack` возвращает тензор float16. Ошибки при этом нет, но обратный проход выполняется с таким тензором, "
    "и результат ещё раз округляется до float16.",
)
def unpacks_halves(f: Function, x: Tensor) -> Tensor:
    return running_with_hooks(_half, lambda packed: packed)(f, x)


@save_in_half.mistake(
    en="`unpack` returns float32 whatever was saved. A float64 tensor has to come back as float64, an index as an "
    "index.",
    ru="Хук `unpack` всегда возвращает float32. Тензор float64 должен вернуться как float64, а индекс — как индекс.",
)
def unpacks_float32(f: Function, x: Tensor) -> Tensor:
    return running_with_hooks(
        _half,
        lambda packed: packed.float() if packed.is_floating_point() else packed,
    )(f, x)


@save_in_half.mistake(
    en="Everything was packed in float16, indices as well. float16 has no 2051: whole numbers above 2048 are rounded, "
    "and the gradient lands in another entry.",
    ru="Во float16 упаковано всё, в том числе индексы. Числа 2051 во float16 нет: целые больше 2048 округляются, и "
    "градиент попадает не в тот элемент.",
)
def halves_indices(f: Function, x: Tensor) -> Tensor:
    return _packing(lambda t: t.detach().half())(f, x)


@save_in_half.mistake(
    en="Everything comes back as float16, indices as well. `pack` has to note the dtype and leave whole numbers and "
    "booleans alone.",
    ru="Всё возвращается во float16, в том числе индексы. Хук `pack` должен запоминать dtype и не менять целые числа и "
    "логические значения.",
)
def halves_everything(f: Function, x: Tensor) -> Tensor:
    return running_with_hooks(lambda t: t.detach().half(), lambda packed: packed)(f, x)


@save_in_half.mistake(
    en="Everything comes back as float32, indices as well. An index has to come back as it was.",
    ru="Всё возвращается в float32, в том числе индексы. Индекс должен вернуться таким, каким был.",
)
def everything_to_float32(f: Function, x: Tensor) -> Tensor:
    return running_with_hooks(lambda t: t.detach().half(), lambda packed: packed.float())(f, x)


@save_in_half.mistake(
    en="`pack` and `unpack` are the wrong way round: the first of the pair packs.",
    ru="Хуки `pack` и `unpack` перепутаны местами: первым в паре идёт упаковывающий.",
)
def swaps_the_pair(f: Function, x: Tensor) -> Tensor:
    return running_with_hooks(_restore, lambda t: (t.half(), t.dtype))(f, x)


@save_in_half.mistake(
    en="Tensors that are not made smaller are copied. Kept without a copy, they take no more memory: `detach()` makes "
    "none.",
    ru="Копируются и те тензоры, которые нужно хранить как есть. Без копии лишней памяти они не занимают: `detach()` "
    "её не создаёт.",
)
def copies_the_rest(f: Function, x: Tensor) -> Tensor:
    return _packing(lambda t: t.detach().half() if is_wide(t) else t.detach().clone())(f, x)


@save_in_half.mistake(
    en="The result was converted to float16 as well. Only what is saved for backward should be packed.",
    ru="Во float16 переведён и результат, а упаковывать нужно только то, что сохраняется для обратного прохода.",
)
def halves_the_result(f: Function, x: Tensor) -> Tensor:
    return f(x).half()


@save_in_half.mistake(
    en="bfloat16 was used, which rounds eight times as coarsely as float16.",
    ru="Использован bfloat16: он округляет в восемь раз грубее, чем float16.",
)
def packs_bfloat16(f: Function, x: Tensor) -> Tensor:
    return _packing(lambda t: t.detach().bfloat16() if is_wide(t) else t.detach())(f, x)


@save_in_half.mistake(
    en="Only float32 is packed. A float64 tensor should take two bytes per entry as well.",
    ru="Упаковываются только тензоры float32, а тензор float64 тоже должен занимать по два байта на элемент.",
)
def packs_float32_only(f: Function, x: Tensor) -> Tensor:
    return _packing(lambda t: t.detach().half() if t.dtype == torch.float32 else t.detach())(f, x)


@save_in_half.mistake(
    en="`pack` rounds and goes back to the wide dtype at once. The numbers are rounded, but no memory is saved: going "
    "back is for `unpack`.",
    ru="В `pack` числа округляются и тут же возвращаются к прежнему dtype. Памяти занято не меньше: обратно переводить "
    "нужно в `unpack`.",
)
def rounds_without_saving(f: Function, x: Tensor) -> Tensor:
    return running_with_hooks(lambda t: _half(t).to(t.dtype), lambda packed: packed)(f, x)


@save_in_half.mistake(
    en="What `pack` returns holds the wide tensor beside the float16 one, so more is kept than without hooks.",
    ru="В результате `pack` вместе с тензором float16 лежит и исходный: поэтому хранится больше, чем без хуков.",
)
def keeps_both(f: Function, x: Tensor) -> Tensor:
    return running_with_hooks(lambda t: (_half(t), t.detach()), lambda packed: packed[0].to(packed[1].dtype))(f, x)


@save_in_half.mistake(
    en="`x` is kept as it is, since it is in memory anyway. It is a saved tensor like the others: the graph has to "
    "keep it as float16 too.",
    ru="Тензор `x` хранится как есть: он ведь и так в памяти. Но это такой же сохранённый тензор, как другие, и граф "
    "должен хранить его как float16.",
)
def leaves_x_as_it_is(f: Function, x: Tensor) -> Tensor:
    return _packing(lambda t: t.detach() if t.data_ptr() == x.data_ptr() else _half(t))(f, x)


@save_in_half.mistake(
    en="A tensor that is not made smaller is kept without `detach()`. When it is the operation's own result, it holds "
    "its graph and the graph holds it: nothing is freed. `t.half()` of a float16 tensor is that tensor too.",
    ru="Тензор, который не уменьшается, хранится без `detach()`. Если это результат той же операции, он держит граф, а "
    "граф — его, и память не освобождается. Для тензора float16 результат `t.half()` — тоже он сам.",
)
def keeps_the_rest_itself(f: Function, x: Tensor) -> Tensor:
    return _packing(lambda t: t.half() if is_wide(t) else t)(f, x)


@save_in_half.mistake(
    en="`unpack` gives every float16 tensor back in the dtype of `x`. A saved tensor may have another dtype than `x`.",
    ru="`unpack` возвращает любой тензор float16 в dtype тензора `x`. У сохранённого тензора dtype может быть другим, "
    "чем у `x`.",
)
def unpacks_the_dtype_of_x(f: Function, x: Tensor) -> Tensor:
    return running_with_hooks(_half, lambda packed: packed.to(x.dtype) if packed.dtype == torch.float16 else packed)(
        f, x
    )


@save_in_half.mistake(
    en="Only tensors that require grad are packed in half. A constant factor is saved as well.",
    ru="В float16 упаковываются только тензоры, которые требуют градиента. Но сохраняется и постоянный множитель.",
)
def packs_only_what_requires_grad(f: Function, x: Tensor) -> Tensor:
    return _packing(lambda t: _half(t) if t.requires_grad else t.detach())(f, x)


@save_in_half.mistake(
    en="Small tensors are left as they are. All saved float32 and float64 tensors are to be packed, of any size.",
    ru="Малые тензоры хранятся как есть. Упаковывать нужно все сохранённые тензоры float32 и float64 любого размера.",
)
def leaves_small_ones(f: Function, x: Tensor) -> Tensor:
    return _packing(lambda t: _half(t) if t.numel() > 10 else t.detach())(f, x)


@save_in_half.mistake(
    en="`f` ran on a detached copy of `x`: the gradient never reaches `x`.",
    ru="`f` выполнена на отсоединённой копии `x`: до самого `x` градиент не доходит.",
)
def runs_on_a_detached_x(f: Function, x: Tensor) -> Tensor:
    hooked = _packing(_half)
    return hooked(f, x.detach().requires_grad_())


@save_in_half.mistake(*save_in_half.mistakes["leaves_small_ones"].says)
def leaves_single_numbers(f: Function, x: Tensor) -> Tensor:
    return _packing(lambda t: _half(t) if t.numel() > 1 else t.detach())(f, x)


@save_in_half.mistake(
    en="`unpack` returns no tensor: it returns the pair that `pack` made, or nothing.",
    ru="Хук `unpack` возвращает не тензор: он возвращает пару, которую создал `pack`, или ничего.",
)
def unpacks_the_pair(f: Function, x: Tensor) -> Tensor:
    return running_with_hooks(lambda t: (t.dtype, _half(t)), lambda packed: packed)(f, x)


@save_in_half.mistake(
    en="`pack` returns nothing, so there is nothing to unpack.",
    ru="Хук `pack` ничего не возвращает, и распаковывать нечего.",
)
def packs_nothing(f: Function, x: Tensor) -> Tensor:
    return running_with_hooks(lambda t: None, lambda packed: packed[1].to(packed[0]))(f, x)


@save_in_half.mistake(
    en="Every floating-point tensor is packed, bfloat16 as well. Its numbers may be too large for float16: only float32 and "
    "float64 are to be packed.",
    ru="Упаковывается любой вещественный тензор, в том числе bfloat16. Его числа могут не поместиться во float16: "
    "упаковывать нужно только float32 и float64.",
)
def packs_all_floats(f: Function, x: Tensor) -> Tensor:
    return _packing(lambda t: t.detach().half() if t.is_floating_point() else t.detach())(f, x)


@save_in_half.mistake(
    en="Every floating-point tensor comes back as float16. `pack` has to note the dtype, and `unpack` to restore it.",
    ru="Любой вещественный тензор возвращается как float16. Хук `pack` должен запомнить dtype, а `unpack` — его "
    "восстановить.",
)
def unpacks_all_halves(f: Function, x: Tensor) -> Tensor:
    return running_with_hooks(lambda t: t.detach().half() if t.is_floating_point() else t.detach(), lambda t: t)(f, x)


@save_in_half.mistake(
    en="`x` was rounded to float16 before `f` ran, and the result changed with it. Only what is saved should be rounded.",
    ru="Тензор `x` округлён до float16 ещё до вызова `f`, и результат изменился. Округлять нужно только то, что "
    "сохраняется.",
)
def rounds_x(f: Function, x: Tensor) -> Tensor:
    return f(x.half().to(x.dtype))


@save_in_half.mistake(
    en="The result was rounded to float16. It should keep its exact numbers.",
    ru="Результат округлён до float16, а его числа должны остаться в точности прежними.",
)
def rounds_the_result(f: Function, x: Tensor) -> Tensor:
    y = _packing(_half)(f, x)
    return y.half().to(y.dtype)


@save_in_half.mistake(
    en="Only tensors with the dtype of `x` are packed. Float32 and float64 tensors both should be, whatever `x` is.",
    ru="Упаковываются только тензоры с dtype тензора `x`. Упаковывать нужно и float32, и float64, каким бы ни был `x`.",
)
def packs_the_dtype_of_x(f: Function, x: Tensor) -> Tensor:
    return running_with_hooks(
        lambda t: t.detach().half() if t.dtype == x.dtype else t.detach(),
        lambda t: t.to(x.dtype) if t.dtype == torch.float16 else t,
    )(f, x)


@save_in_half.mistake(
    en="Leaves are kept as they are. `x` and constants are saved tensors like the others.",
    ru="Листья хранятся как есть. Но `x` и константы — такие же сохранённые тензоры, как остальные.",
)
def packs_no_leaves(f: Function, x: Tensor) -> Tensor:
    return _packing(lambda t: t.detach() if t.is_leaf else _half(t))(f, x)
