# %%
import threading
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.pool import ThreadPool

import torch


def _in_threads(model, batches, *, inside=True, outside=False, report=True, calls=1, early=False, limit=None):
    """Call the model in threads, `calls` times for each batch.

    `inside` and `outside` tell where recording is off, `report` raises errors, and `early` before all threads are
    joined. `limit` is the time limit of a join.
    """
    outputs = [None] * len(batches)
    errors = []

    def work(i):
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

# %% mistake="modes_stay_outside" theme="recording"
# `no_grad` is entered in the calling thread only. In the threads that run the model, recording is on.
# Блок `no_grad` действует только в вызывающем потоке. В потоках, где работает модель, запись включена.
def fix_threads(model, batches):
    return _in_threads(model, batches, inside=False, outside=True)

# %% mistake="detaches_afterwards" theme="cost"
# The results are detached afterwards. The graph was recorded all the same, and took its time and memory.
# Результаты отсоединяются от графа слишком поздно: на его запись уже ушли и время, и память.
def fix_threads(model, batches):
    return [y.detach() for y in _in_threads(model, batches, inside=False, outside=True)]

# %% mistake="loses_errors" theme="own"
# An error in a thread is lost: the function returns as if all was well, with None for that batch.
# Исключение в потоке пропадает: функция возвращает результат как ни в чём не бывало, и вместо значения для этого батча
#     в нём стоит None.
def fix_threads(model, batches):
    return _in_threads(model, batches, report=False)

# %% mistake="uses_no_threads" theme="cost" plain="yes"
# The model runs in the calling thread, without threads. That avoids both bugs and the exercise.
# Модель работает в вызывающем потоке, новых потоков нет. Обе ошибки исчезли, но вместе с ними и сама задача.
def fix_threads(model, batches):
    with torch.no_grad():
        return [model(x) for x in batches]

# %% mistake="leaves_recording_off" theme="state"
# Recording is switched off by `torch.set_grad_enabled(False)` and not switched on again in the calling thread.
# Запись выключена вызовом `torch.set_grad_enabled(False)` и в вызывающем потоке не включена снова.
def fix_threads(model, batches):
    torch.set_grad_enabled(False)
    return _in_threads(model, batches, inside=True, outside=True)

# %% mistake="loses_the_order" theme="order"
# The outputs are in the wrong order: they have to stand as the batches do, not as the threads end.
# Результаты стоят не в том порядке: они должны идти как батчи, а не как завершаются потоки.
def fix_threads(model, batches):
    return _in_threads(model, batches)[::-1]

# %% mistake="switches_recording_on" theme="state"
# Recording is switched on at the end, whatever the caller's mode was. Here the caller had it off.
# В конце запись включается, каким бы ни был режим вызывающего потока. Здесь запись в этом потоке была выключена.
def fix_threads(model, batches):
    outputs = _in_threads(model, batches)
    torch.set_grad_enabled(True)
    return outputs

# %% mistake="freezes_the_weights" theme="state"
# The weights do not require grad any more. The model was changed, and recording in the threads is still on.
# Веса больше не требуют градиента. Изменена сама модель, а запись в потоках по-прежнему включена.
def fix_threads(model, batches):
    model.requires_grad_(False)
    return _in_threads(model, batches, inside=False, outside=True)

# %% mistake="raises_another" theme="own"
# Another exception is raised. It should be the model's own, with its traceback.
# Возникает другое исключение, а нужно то самое, которое вызвала модель, с его трассировкой.
def fix_threads(model, batches):
    try:
        return _in_threads(model, batches)
    except ValueError as error:
        raise RuntimeError(f"a thread has failed: {error}") from None

# %% mistake="returns_the_error" theme="own"
# The exception stands in the list of results. It should be raised.
# Исключение попало в список результатов, а функция должна им завершиться.
def fix_threads(model, batches):
    outputs = _in_threads(model, batches, report=False)
    return [ValueError() if y is None else y for y in outputs]

# %% mistake="leaves_the_batch_out" theme="missing"
# The batch that failed is left out of the results, and no exception is raised.
# Батч, на котором произошла ошибка, пропущен в результатах, а исключения нет.
def fix_threads(model, batches):
    return [y for y in _in_threads(model, batches, report=False) if y is not None]

# %% mistake="tries_again_outside" theme="own"
# A batch that failed in its thread is tried again in the caller's thread.
# Батч, на котором произошла ошибка, ещё раз обрабатывается в вызывающем потоке.
def fix_threads(model, batches):
    outputs = _in_threads(model, batches, report=False)
    return [model(x) if y is None else y for x, y in zip(batches, outputs)]

# %% mistake="raises_too_early" theme="order"
# The exception is raised while another thread is still running. Join all threads first.
# Функция завершается исключением, пока другой поток ещё работает. Сначала дождитесь всех потоков.
def fix_threads(model, batches):
    return _in_threads(model, batches, early=True)

# %% mistake="keeps_the_pool" theme="state"
# When the function ends, threads of its pool may still be alive. Neither `close()` nor `terminate()` waits for them: `join()` does,
#     `shutdown()` of an executor, or a `with` block.
# Когда функция завершилась, потоки её пула могут ещё работать. Ни `close()`, ни `terminate()` их не дожидаются. Ждут `join()`,
#     `shutdown()` у исполнителя или блок `with`.
def fix_threads(model, batches):
    pool = ThreadPoolExecutor(len(batches))
    futures = [pool.submit(torch.no_grad()(lambda x: model(x)), x) for x in batches]
    return [future.result() for future in futures]

# %% mistake="terminates_the_pool" like="keeps_the_pool"
def fix_threads(model, batches):
    pool = ThreadPool(len(batches))
    try:
        return pool.map(torch.no_grad()(lambda x: model(x)), batches, chunksize=1)
    finally:
        pool.terminate()

# %% mistake="joins_for_a_while" theme="own"
# `join` has a time limit. When it is over, the function goes on without the result.
# У вызова `join` задан предел времени. Когда время вышло, функция продолжает работу без результата.
def fix_threads(model, batches):
    return _in_threads(model, batches, limit=0.001)

# %% mistake="calls_twice" theme="cost"
# The model is called twice for each batch.
# Для каждого батча модель вызвана дважды.
def fix_threads(model, batches):
    return _in_threads(model, batches, calls=2)

# %% mistake="does_the_last_itself" theme="cost"
# One of the calls runs in the caller's thread, the others in threads of their own. None may run there.
# Один из вызовов модели выполняется в вызывающем потоке, остальные — в новых потоках. А в вызывающем не должен
#     выполняться ни один.
def fix_threads(model, batches):
    def run(batch):
        with torch.no_grad():
            return model(batch)

    with ThreadPoolExecutor(len(batches)) as pool:
        futures = [pool.submit(run, batch) for batch in batches[:-1]]
        last = run(batches[-1])
        return [*(future.result() for future in futures), last]

# %% mistake="records_everywhere" theme="recording"
# Recording is on in every thread: neither the calling thread nor those that run the model switch it off.
# Запись включена во всех потоках: её не выключает ни вызывающий поток, ни те, где работает модель.
def fix_threads(model, batches):
    return _in_threads(model, batches, inside=False)

# %% mistake="stacks_the_outputs" theme="missing"
# One tensor with all outputs came back. Asked for is the list of outputs, which may have different shapes.
# Возвращён один тензор со всеми результатами, а нужен список: у результатов могут быть разные формы.
def fix_threads(model, batches):
    return torch.stack(_in_threads(model, batches))

# %% mistake="returns_an_iterator" theme="missing"
# An iterator came back, as `map` gives it. Asked for is a list.
# Возвращён итератор, какой даёт `map`, а нужен список.
def fix_threads(model, batches):
    return iter(_in_threads(model, batches))

# %% mistake="all_take_the_last" theme="own"
# Every thread works on the last batch, and the other places stay None: a variable of the loop is read when the
#     thread runs.
# Все потоки обрабатывают последний батч, а на остальных местах остаётся None: переменная цикла читается, когда
#     поток выполняется.
def fix_threads(model, batches):
    return [*[None] * (len(batches) - 1), _in_threads(model, [batches[-1]] * len(batches))[-1]]

# %% mistake="returns_a_dict" theme="missing"
# A dict came back. Asked for is a list.
# Возвращён словарь, а нужен список.
def fix_threads(model, batches):
    return dict(enumerate(_in_threads(model, batches)))
