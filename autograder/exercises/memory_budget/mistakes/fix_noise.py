# %%
from contextlib import contextmanager, nullcontext

import torch
from torch.utils.checkpoint import checkpoint


def under(run, x, **settings):
    return checkpoint(run, x, use_reentrant=False, **settings)


# %% mistake="no_checkpoint" theme="cost" plain="yes"
# There is no checkpoint: the graph keeps all that the derivatives need.
# Контрольной точки нет: граф хранит всё, что нужно производным.
def fix_noise(f, x, generator):
    return f(x, generator)

# %% mistake="leaves_by_the_exception" theme="state"
# After the recomputation the generator is not put back. A line behind the call is not enough: early stop leaves `f` by an
#     exception.
# После повторного вычисления генератору не возвращено прежнее состояние. Строки после вызова для этого мало: ранняя
#     остановка прерывает `f` исключением.
def fix_noise(f, x, generator):
    before, calls = generator.get_state(), []

    def run(x):
        calls.append(1)
        if len(calls) == 1:
            return f(x, generator)
        now = generator.get_state()
        generator.set_state(before)
        y = f(x, generator)
        generator.set_state(now)
        return y

    return under(run, x)

# %% mistake="back_to_the_seed" theme="state"
# Before the recomputation the generator is put back to its seed, not to where it stood when `f` was called.
# Перед повторным вычислением генератор возвращён к исходному seed, а не туда, где он был при вызове `f`.
def fix_noise(f, x, generator):
    calls = []

    def run(x):
        calls.append(1)
        used = generator if len(calls) == 1 else torch.Generator().manual_seed(generator.initial_seed())
        return f(x, used)

    return under(run, x)

# %% mistake="trusts_the_common_state" theme="state"
# A checkpoint puts back torch's own random state alone. `generator` goes on, and the recomputation draws other numbers.
# Контрольная точка восстанавливает состояние только общего генератора torch. А `generator` продолжает с того места, где
#     остановился, и при повторном вычислении числа другие.
def fix_noise(f, x, generator):
    return under(lambda x: f(x, generator), x, preserve_rng_state=True)

# %% mistake="only_once" theme="graph_life"
# The first backward pass is right, the second fails: a context manager made by `contextmanager` can be entered once.
# Первый обратный проход верен, а второй завершается ошибкой: контекстный менеджер, созданный `contextmanager`, можно
#     использовать только один раз.
def fix_noise(f, x, generator):
    before = generator.get_state()

    @contextmanager
    def back():
        now = generator.get_state()
        generator.set_state(before)
        try:
            yield
        finally:
            generator.set_state(now)

    return under(lambda x: f(x, generator), x, context_fn=lambda: (nullcontext(), back()))

# %% mistake="fixed_noise" theme="own"
# The noise is the same in both runs, but it is not that of the generator: the forward pass draws other numbers.
# Шум в обоих вызовах одинаков, но взят не из генератора: уже в прямом проходе числа другие.
def fix_noise(f, x, generator):
    return under(lambda x: f(x, torch.Generator().manual_seed(0)), x)

# %% mistake="fixed_noise_by_42" like="fixed_noise"
def fix_noise(f, x, generator):
    return under(lambda x: f(x, torch.Generator().manual_seed(42)), x)

# %% mistake="fixed_noise_by_the_seed" like="fixed_noise"
def fix_noise(f, x, generator):
    return under(lambda x: f(x, torch.Generator().manual_seed(generator.initial_seed())), x)

# %% mistake="seeds_the_generator" theme="state"
# `manual_seed` puts the generator to a place of its own: the forward pass draws other numbers, and so does everybody who
#     draws from it later.
# После `manual_seed` генератор стоит на новом месте: другие числа получит уже прямой проход, а потом и все, кто берёт
#     числа из этого генератора.
def fix_noise(f, x, generator):
    return under(lambda x: f(x, generator.manual_seed(0)), x)

# %% mistake="seeds_the_generator_with_42" like="seeds_the_generator"
def fix_noise(f, x, generator):
    return under(lambda x: f(x, generator.manual_seed(42)), x)

# %% mistake="seeds_the_generator_anew" like="seeds_the_generator"
def fix_noise(f, x, generator):
    return under(lambda x: f(x, generator.manual_seed(generator.initial_seed())), x)

# %% mistake="seeds_the_generator_before" like="seeds_the_generator"
def fix_noise(f, x, generator):
    return under(lambda x: f(x, generator), generator.manual_seed(0) and x)

# %% mistake="seeds_the_generator_before_with_42" like="seeds_the_generator"
def fix_noise(f, x, generator):
    return under(lambda x: f(x, generator), generator.manual_seed(42) and x)

# %% mistake="seeds_the_common_state" theme="state"
# `torch.manual_seed` is about torch's own random state. `generator` goes on all the same, and whoever draws from torch's
#     own state gets other numbers.
# Вызов `torch.manual_seed` относится к общему генератору torch. На `generator` он не действует, а из общего генератора
#     теперь все получают другие числа.
def fix_noise(f, x, generator):
    def run(x):
        torch.manual_seed(0)
        return f(x, generator)

    return under(run, x)

# %% mistake="one_note_for_all_calls" theme="state"
# What is noted belongs to the function, not to the call: a second call overwrites it before the backward pass of the first.
# Запомненное принадлежит функции, а не вызову: второй вызов перезаписывает его до обратного прохода первого.
def fix_noise(f, x, generator):
    fix_noise.before, calls = generator.get_state(), []

    def run(x):
        calls.append(1)
        return f(x, generator if len(calls) == 1 else torch.Generator().set_state(fix_noise.before))

    return under(run, x)

# %% mistake="leaves_the_generator_alone" theme="state"
# The generator does not move at all, so that the next draw repeats the numbers of `f`.
# Генератор вообще не сдвинулся, и при следующем обращении он повторит числа, взятые в `f`.
def fix_noise(f, x, generator):
    before = generator.get_state()
    return under(lambda x: f(x, torch.Generator().set_state(before)), x)

# %% mistake="state_after_the_first_run" theme="order"
# The recomputation begins where the first run of `f` ended: the generator was not put back, or its state was read too
#     late.
# Повторное вычисление начинается там, где закончился первый вызов `f`: генератор не возвращён назад, или его состояние
#     прочитано слишком поздно.
def fix_noise(f, x, generator):
    states = []

    def run(x):
        if not states:
            y = f(x, generator)
            states.append(generator.get_state())
            return y
        return f(x, torch.Generator().set_state(states[0]))

    return under(run, x)

# %% mistake="numbers_come_again" theme="state"
# The recomputation puts the generator to a place that it has left since: numbers drawn in between come again.
# Повторное вычисление возвращает генератор в точку, которую он с тех пор уже прошёл: взятые после неё числа появятся
#     снова.
def fix_noise(f, x, generator):
    before, after = generator.get_state(), []

    def run(x):
        generator.set_state(before)
        try:
            return f(x, generator)
        finally:
            if not after:
                after.append(generator.get_state())
            generator.set_state(after[0])

    return under(run, x)

# %% mistake="numbers_come_again_later" like="numbers_come_again"
def fix_noise(f, x, generator):
    before, calls, places = generator.get_state(), [], []

    def run(x):
        calls.append(1)
        if len(calls) == 1:
            return f(x, generator)
        if not places:
            places.append(generator.get_state())
        generator.set_state(before)
        try:
            return f(x, generator)
        finally:
            generator.set_state(places[0])

    return under(run, x)

# %% mistake="one_copy_for_all" theme="state"
# The first backward pass is right. In the second the recomputation gets other numbers than the forward pass.
# Первый обратный проход верен. А во втором повторное вычисление получает не те числа, что прямой проход.
def fix_noise(f, x, generator):
    copy, calls = torch.Generator().set_state(generator.get_state()), []

    def run(x):
        calls.append(1)
        return f(x, generator if len(calls) == 1 else copy)

    return under(run, x)

# %% mistake="forgets_the_other_source" theme="state"
# The numbers of `generator` are repeated, those of torch's own random state are not.
# Числа из `generator` повторяются, а числа из общего генератора torch — нет.
def fix_noise(f, x, generator):
    before, calls = generator.get_state(), []

    def run(x):
        calls.append(1)
        return f(x, generator if len(calls) == 1 else torch.Generator().set_state(before))

    return under(run, x, preserve_rng_state=False)

# %% mistake="cuts_the_graph" theme="recording"
# No gradient comes back: `f` ran without a graph, or on a detached `x`.
# Градиента нет: функция `f` выполнена без графа или на отсоединённом `x`.
def fix_noise(f, x, generator):
    with torch.no_grad():
        return f(x, generator)

# %% mistake="one_copy_is_used_up" theme="graph_life"
# There is one copy of the generator, for one recomputation. The second backward pass recomputes again and finds none.
# Копия генератора одна, на одно повторное вычисление. Второй обратный проход вычисляет всё заново, а копии уже нет.
def fix_noise(f, x, generator):
    generators = [generator, torch.Generator().set_state(generator.get_state())]
    return under(lambda x: f(x, generators.pop(0)), x)

# %% mistake="runs_once_more" theme="state"
# `f` runs once more so that the generator moves. That draws from torch's own random state as well, once too often.
# Чтобы сдвинуть генератор, `f` выполнена ещё раз. Но при этом и из общего генератора torch числа взяты лишний раз.
def fix_noise(f, x, generator):
    before = generator.get_state()
    y = under(lambda x: f(x, torch.Generator().set_state(before)), x)
    with torch.no_grad():
        f(x, generator)
    return y

# %% mistake="notes_the_state_anew" theme="order"
# The state is noted inside what runs again: in the recomputation it is the state of that moment, not of the forward pass.
# Состояние запоминается внутри функции, которая выполняется повторно: тогда оно уже не то, что в прямом
#     проходе.
def fix_noise(f, x, generator):
    return under(lambda x: f(x, torch.Generator().set_state(generator.get_state())), x)

# %% mistake="every_other_call_is_forward" like="one_copy_for_all"
def fix_noise(f, x, generator):
    state, calls = generator.get_state(), []

    def run(x):
        calls.append(1)
        return f(x, generator if len(calls) % 2 else torch.Generator().set_state(state))

    return under(run, x)
