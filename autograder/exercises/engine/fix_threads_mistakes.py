"""Mistakes of `fix_threads`."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch
from torch import Tensor

from .fix_threads import fix_threads


def _in_threads(
    model: Any,
    batches: list[Tensor],
    *,
    inside: bool = True,
    outside: bool = False,
    report: bool = True,
    calls: int = 1,
    early: bool = False,
    limit: float | None = None,
) -> list[Any]:
    """Call the model in threads, `calls` times for each batch.

    `inside` and `outside` tell where recording is off, `report` raises errors, and `early` before all threads are
    joined. `limit` is the time limit of a join.
    """
    outputs: list[Any] = [None] * len(batches)
    errors: list[Exception] = []

    def work(i: int) -> None:
        try:
            with torch.set_grad_enabled(not inside):
                for _ in range(calls):
                    outputs[i] = model(batches[i])
        except Exception as error:
            errors.append(error)

    with torch.set_grad_enabled(torch.is_grad_enabled() and not outside):
        threads = [threading.Thread(target=work, args=(i,)) for i in range(len(batches))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(limit)
            if errors and early:
                raise errors[0]
    if errors and report:
        raise errors[0]
    return outputs


@fix_threads.mistake(
    en="`no_grad` is entered in the calling thread only. In the threads that run the model, recording is on.",
    ru="Блок `no_grad` действует только в вызывающем потоке. В потоках, где работает модель, запись включена.",
)
def modes_stay_outside(model: Any, batches: list[Tensor]) -> list[Any]:
    return _in_threads(model, batches, inside=False, outside=True)


@fix_threads.mistake(
    en="The results are detached afterwards. The graph was recorded all the same, and took its time and memory.",
    ru="Результаты отсоединяются от графа потом. Граф всё равно был записан и занял время и память.",
)
def detaches_afterwards(model: Any, batches: list[Tensor]) -> list[Any]:
    return [y.detach() for y in _in_threads(model, batches, inside=False, outside=True)]


@fix_threads.mistake(
    en="An error in a thread is lost: the function returns as if all was well, with None for that batch.",
    ru="Исключение в потоке пропадает: функция возвращает результат как ни в чём не бывало, и для этого батча в нём None.",
)
def loses_errors(model: Any, batches: list[Tensor]) -> list[Any]:
    return _in_threads(model, batches, report=False)


@fix_threads.mistake(
    en="The model runs in the calling thread, without threads. That avoids both bugs and the exercise.",
    ru="Модель работает в вызывающем потоке, новых потоков нет. Обе ошибки исчезли, но вместе с ними и сама задача.",
)
def uses_no_threads(model: Any, batches: list[Tensor]) -> list[Any]:
    with torch.no_grad():
        return [model(x) for x in batches]


@fix_threads.mistake(
    en="Recording is switched off by `torch.set_grad_enabled(False)` and not switched on again in the calling thread.",
    ru="Запись выключена вызовом `torch.set_grad_enabled(False)` и в вызывающем потоке не включена снова.",
)
def leaves_recording_off(model: Any, batches: list[Tensor]) -> list[Any]:
    torch.set_grad_enabled(False)
    return _in_threads(model, batches, inside=True, outside=True)


@fix_threads.mistake(
    en="The outputs are in the wrong order: they have to stand as the batches do, not as the threads end.",
    ru="Результаты стоят не в том порядке: они должны идти как батчи, а не как завершаются потоки.",
)
def loses_the_order(model: Any, batches: list[Tensor]) -> list[Any]:
    return _in_threads(model, batches)[::-1]


@fix_threads.mistake(
    en="Recording is switched on at the end, whatever the caller's mode was. Here the caller had it off.",
    ru="В конце запись включается, каким бы ни был режим вызывающего потока. Здесь он был без записи.",
)
def switches_recording_on(model: Any, batches: list[Tensor]) -> list[Any]:
    outputs = _in_threads(model, batches)
    torch.set_grad_enabled(True)
    return outputs


@fix_threads.mistake(
    en="The weights do not require grad any more. The model was changed, and recording in the threads is still on.",
    ru="Веса больше не требуют градиента. Изменена сама модель, а запись в потоках по-прежнему включена.",
)
def freezes_the_weights(model: Any, batches: list[Tensor]) -> list[Any]:
    model.requires_grad_(False)
    return _in_threads(model, batches, inside=False, outside=True)


@fix_threads.mistake(
    en="Another exception is raised. It should be the model's own, with its traceback.",
    ru="Возникает другое исключение, а нужен тот же самый объект, что и у модели, с его трассировкой.",
)
def raises_another(model: Any, batches: list[Tensor]) -> list[Any]:
    try:
        return _in_threads(model, batches)
    except ValueError as error:
        raise RuntimeError(f"a thread has failed: {error}") from None


@fix_threads.mistake(
    en="The exception stands in the list of results. It should be raised.",
    ru="Исключение попало в список результатов, а должно завершить функцию.",
)
def returns_the_error(model: Any, batches: list[Tensor]) -> list[Any]:
    outputs = _in_threads(model, batches, report=False)
    return [ValueError() if y is None else y for y in outputs]


@fix_threads.mistake(
    en="The batch that failed is left out of the results, and no exception is raised.",
    ru="Батч, на котором произошла ошибка, пропущен в результатах, а исключения нет.",
)
def leaves_the_batch_out(model: Any, batches: list[Tensor]) -> list[Any]:
    return [y for y in _in_threads(model, batches, report=False) if y is not None]


@fix_threads.mistake(
    en="A batch that failed in its thread is tried again in the caller's thread.",
    ru="Батч, на котором произошла ошибка, ещё раз обрабатывается в вызывающем потоке.",
)
def tries_again_outside(model: Any, batches: list[Tensor]) -> list[Any]:
    outputs = _in_threads(model, batches, report=False)
    return [model(x) if y is None else y for x, y in zip(batches, outputs)]


@fix_threads.mistake(
    en="The exception is raised while another thread is still running. Join all threads first.",
    ru="Функция завершается исключением, пока другой поток ещё работает. Сначала дождитесь всех потоков.",
)
def raises_too_early(model: Any, batches: list[Tensor]) -> list[Any]:
    return _in_threads(model, batches, early=True)


@fix_threads.mistake(
    en="When the function returns, threads of it are still alive. A pool has to be shut down, or used with `with`.",
    ru="Когда функция возвращает результат, её потоки ещё живы. Пул нужно закрыть или создать в блоке `with`.",
)
def keeps_the_pool(model: Any, batches: list[Tensor]) -> list[Any]:
    pool = ThreadPoolExecutor(len(batches))
    futures = [pool.submit(torch.no_grad()(lambda x: model(x)), x) for x in batches]
    return [future.result() for future in futures]


@fix_threads.mistake(
    en="`join` has a time limit. When it is over, the function goes on without the result.",
    ru="У вызова `join` есть предел времени. Когда время вышло, функция продолжает работу без результата.",
)
def joins_for_a_while(model: Any, batches: list[Tensor]) -> list[Any]:
    return _in_threads(model, batches, limit=0.001)


@fix_threads.mistake(
    en="The model is called twice for each batch.",
    ru="Для каждого батча модель вызвана дважды.",
)
def calls_twice(model: Any, batches: list[Tensor]) -> list[Any]:
    return _in_threads(model, batches, calls=2)


@fix_threads.mistake(
    en="One of the calls runs in the caller's thread, the others in threads of their own. None may run there.",
    ru="Один из вызовов модели выполняется в вызывающем потоке, остальные — в новых потоках. А в вызывающем не должен "
    "выполняться ни один.",
)
def does_the_last_itself(model: Any, batches: list[Tensor]) -> list[Any]:
    def run(batch: Tensor) -> Any:
        with torch.no_grad():
            return model(batch)

    with ThreadPoolExecutor(len(batches)) as pool:
        futures = [pool.submit(run, batch) for batch in batches[:-1]]
        last = run(batches[-1])
        return [*(future.result() for future in futures), last]


@fix_threads.mistake(
    en="Recording is on in every thread: neither the calling thread nor those that run the model switch it off.",
    ru="Запись включена во всех потоках: её не выключает ни вызывающий поток, ни те, где работает модель.",
)
def records_everywhere(model: Any, batches: list[Tensor]) -> list[Any]:
    return _in_threads(model, batches, inside=False)


@fix_threads.mistake(
    en="One tensor with all outputs came back. Asked for is the list of outputs, which may have different shapes.",
    ru="Возвращён один тензор со всеми результатами, а нужен список: у результатов могут быть разные формы.",
)
def stacks_the_outputs(model: Any, batches: list[Tensor]) -> Tensor:
    return torch.stack(_in_threads(model, batches))


@fix_threads.mistake(
    en="An iterator came back, as `map` gives it. Asked for is a list.",
    ru="Возвращён итератор, какой даёт `map`, а нужен список.",
)
def returns_an_iterator(model: Any, batches: list[Tensor]) -> Any:
    return iter(_in_threads(model, batches))


@fix_threads.mistake(
    en="Every thread works on the last batch, and the other places stay None: a variable of the loop is read when the thread "
    "runs.",
    ru="Все потоки обрабатывают последний батч, а на остальных местах остаётся None: переменная цикла читается, когда поток "
    "выполняется.",
)
def all_take_the_last(model: Any, batches: list[Tensor]) -> list[Any]:
    return [*[None] * (len(batches) - 1), _in_threads(model, [batches[-1]] * len(batches))[-1]]


@fix_threads.mistake(
    en="A dict came back. Asked for is a list.",
    ru="Возвращён словарь, а нужен список.",
)
def returns_a_dict(model: Any, batches: list[Tensor]) -> dict[int, Any]:
    return dict(enumerate(_in_threads(model, batches)))
