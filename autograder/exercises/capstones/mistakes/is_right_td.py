# %%
import torch

from ..programs.is_right_td import learn

_WALK = [(0, 0.0, 1, False, False), (1, 0.5, 0, False, False), (0, 0.25, 2, False, False), (2, 1.0, 0, True, False)]


_CUT = [(0, 0.0, 2, False, False), (2, 0.5, 1, False, True)]


def _test(td, steps, start=(0.1, 0.2, 0.3), *, gamma=0.9, lam=0.8, exact=False, **fault):
    """Run a test on the program `td`.

    The arguments choose its stream of steps, its table, and a fault of its own.
    """
    found, truth = (torch.tensor(start, dtype=torch.float64, requires_grad=True) for _ in range(2))
    td(found, steps, gamma, lam, 0.5)
    learn([truth], lambda state: truth[state], steps, gamma, lam, 0.5, **{"ends": "terminated", **fault})
    return torch.equal(found, truth) if exact else torch.allclose(found, truth)

# %% mistake="accepts_everything" theme="test"
# The test accepts everything.
# Тест принимает всё.
def is_right_td(td):
    return True

# %% mistake="refuses_everything" theme="test"
# The test refuses every right program. Are the expected weights right, may they differ by rounding, and does the
#     test look at `w` alone?
# Тест отвергает все правильные программы. Верны ли ожидаемые веса, допускается ли погрешность округления и смотрит
#     ли тест только на `w`?
def is_right_td(td):
    return False

# %% mistake="returns_nothing" theme="return"
# The test returns None for a right program: `return` is missing.
# Для правильной программы тест возвращает None: забыт `return`.
def is_right_td(td):
    assert _test(td, _WALK + _CUT + _WALK)

# %% mistake="compares_exactly" theme="test"
# Some right programs pass the test, others do not. They add in different orders, and some leave something in
#     `w.grad`: a test needs a tolerance, and looks at `w` alone.
# Одни правильные программы проходят тест, другие — нет. Складывают они в разном порядке, а некоторые оставляют что-то
#     в `w.grad`: тесту нужен допуск, и смотреть он должен только на `w`.
def is_right_td(td):
    return _test(td, _WALK + _CUT + _WALK, exact=True)

# %% mistake="judges_the_result" theme="test"
# The test judges what the program returns. That does not matter: compare the table after the call.
# Тест судит по тому, что вернула программа. А это неважно: сравнивать нужно таблицу после вызова.
def is_right_td(td):
    w = torch.tensor([0.1, 0.2, 0.3], requires_grad=True)
    return bool(td(w, _WALK, 0.9, 0.8, 0.5))

# %% mistake="starts_at_zero" theme="test"
# The weights start at 0 and the only reward comes at the end. Nothing is left over on the way, so an update that
#     gets into the trace goes unseen.
# Веса вначале равны 0, и награда только одна, в конце. До последнего шага обновления равны 0, и если они
#     попадают в след, этого не видно.
def is_right_td(td):
    walk = [(0, 0.0, 1, False, False), (1, 0.0, 2, False, False), (2, 1.0, 0, True, False)]
    return _test(td, walk, (0.0, 0.0, 0.0))

# %% mistake="one_episode" theme="test"
# The test has a single episode. Traces that are never cleared and endings of any kind go unseen.
# В тесте один эпизод. Ни следы, которые не обнуляются, ни разные виды окончания так не проверить.
def is_right_td(td):
    return _test(td, [*_WALK[:3], (2, 1.0, 0, False, False)])

# %% mistake="never_truncates" theme="test"
# The test has no truncated episode: a program that takes a truncation for an end passes.
# В тесте нет оборванного эпизода: программа, которая принимает обрыв за конец, проходит.
def is_right_td(td):
    return _test(td, _WALK + _WALK)

# %% mistake="never_terminates" theme="test"
# In the test no step is terminated, or the state after it has the value 0: a program that looks beyond the end
#     passes.
# В тесте нет законченных эпизодов, или ценность состояния после конца равна 0: программа, которая заглядывает за
#     конец, проходит.
def is_right_td(td):
    return _test(td, _CUT + _CUT)

# %% mistake="lambda_of_zero" theme="test"
# The test uses λ = 0, where there are no traces to be wrong.
# В тесте λ = 0, а тогда следов нет и ошибаться не в чем.
def is_right_td(td):
    return _test(td, _WALK + _CUT + _WALK, lam=0.0)

# %% mistake="single_steps" theme="test"
# The test has episodes of one step only. Traces never get old there.
# В тесте только эпизоды из одного шага. Следы там не успевают затухнуть.
def is_right_td(td):
    return _test(td, [(0, 1.0, 1, True, False), (1, 0.5, 2, False, True)])

# %% mistake="compares_signs" theme="test"
# Only the direction of the first change is compared.
# Проверяется только направление первого изменения.
def is_right_td(td):
    w = torch.zeros(1, requires_grad=True)
    td(w, [(0, 5.0, 0, True, False)], 0.9, 0.8, 0.1)
    return w.item() > 0

# %% mistake="returns_a_number" theme="test"
# The test accepts everything: it returns a number, and any number but 0 counts as True.
# Тест принимает всё: он возвращает число, а любое число, кроме 0, считается ответом True.
def is_right_td(td):
    w = torch.tensor([0.1, 0.2, 0.3], requires_grad=True)
    td(w, _WALK, 0.9, 0.8, 0.5)
    return (w.detach() - torch.tensor([0.34, 0.48, 0.65])).abs().max()

# %% mistake="one_terminated_episode" theme="test"
# Two wrong programs pass: one never clears its traces, the other takes a truncation for an end. A single terminated
#     episode tells neither from a right one.
# Проходят две неправильные программы: одна не обнуляет следы, другая принимает обрыв за конец эпизода. На одном
#     законченном эпизоде ни та ни другая не отличается от правильной.
def is_right_td(td):
    return _test(td, _WALK)

# %% mistake="gamma_of_one" theme="test"
# One wrong program passes: that whose traces decay by λ alone. With γ = 1 it does the same as a right one.
# Проходит одна неправильная программа: та, в которой следы затухают с множителем λ, без γ. При γ = 1 она не
#     отличается от правильной.
def is_right_td(td):
    return _test(td, _WALK + _CUT + _WALK, gamma=1.0)

# %% mistake="expects_truncation_to_end" theme="test"
# All right programs are refused, and the one that takes a truncation for an end is accepted: the expected weights
#     were computed as it does.
# Все правильные программы отвергнуты, а прошла та, которая принимает обрыв за конец эпизода: ожидаемые веса
#     вычислены так же, как в ней.
def is_right_td(td):
    return _test(td, _WALK + _CUT + _WALK, ends="either")

# %% mistake="expects_a_look_beyond" theme="test"
# All right programs are refused, and the one that looks beyond the end is accepted: the expected weights were
#     computed as it does.
# Все правильные программы отвергнуты, а прошла та, которая заглядывает за конец эпизода: ожидаемые веса вычислены
#     так же, как в ней.
def is_right_td(td):
    return _test(td, _WALK + _CUT + _WALK, ends="never")

# %% mistake="expects_no_reset" theme="test"
# All right programs are refused, and the one that never clears its traces is accepted: the expected weights were
#     computed as it does.
# Все правильные программы отвергнуты, а прошла та, которая не обнуляет следы: ожидаемые веса вычислены так же, как
#     в ней.
def is_right_td(td):
    return _test(td, _WALK + _CUT + _WALK, resets="never")

# %% mistake="expects_decay_by_lambda" theme="test"
# All right programs are refused, and the one whose traces decay by λ alone is accepted: the expected weights were
#     computed as it does.
# Все правильные программы отвергнуты, а прошла та, в которой следы затухают с множителем λ, без γ: ожидаемые веса
#     вычислены так же, как в ней.
def is_right_td(td):
    return _test(td, _WALK + _CUT + _WALK, decay=0.8)

# %% mistake="states_as_tensors" theme="test"
# The states are given as tensors. For these programs they are indices of the table.
# Состояния заданы тензорами. А для этих программ состояние — индекс в таблице.
def is_right_td(td):
    w, one = torch.tensor([0.1, 0.2, 0.3], requires_grad=True), torch.eye(3)
    td(w, [(one[0], 0.0, one[1], False, False), (one[1], 1.0, one[2], True, False)], 0.9, 0.8, 0.5)
    return torch.allclose(w, torch.zeros(3))

# %% mistake="no_flag" theme="test"
# The table does not require grad. A program may rely on a leaf that does.
# Таблица не требует градиента. А программа вправе рассчитывать на лист, который его требует.
def is_right_td(td):
    w = torch.tensor([0.1, 0.2, 0.3])
    td(w, _WALK, 0.9, 0.8, 0.5)
    return torch.allclose(w, torch.zeros(3))

# %% mistake="never_revisits" theme="test"
# In no episode of the test a state is visited again. A trace that is set to 1, instead of growing by 1, goes unseen.
# Ни в одном эпизоде теста состояние не посещается повторно. След, который становится равным 1, а не растёт на 1,
#     остаётся незамеченным.
def is_right_td(td):
    walk = [(0, 0.0, 1, False, False), (1, 0.5, 2, False, False), (2, 1.0, 0, True, False)]
    return _test(td, walk + _CUT + walk)

# %% mistake="too_wide" theme="test"
# The tolerance is too wide: a program whose steps are 1 % too short passes.
# Допуск слишком велик: проходит программа, шаги которой на 1 % короче.
def is_right_td(td):
    found, truth = (torch.tensor([0.1, 0.2, 0.3], dtype=torch.float64, requires_grad=True) for _ in range(2))
    td(found, _WALK + _CUT + _WALK, 0.9, 0.8, 0.5)
    learn([truth], lambda state: truth[state], _WALK + _CUT + _WALK, 0.9, 0.8, 0.5, ends="terminated")
    return torch.allclose(found, truth, atol=0.02)

# %% mistake="uses_the_result" theme="test"
# The test computes with what the program returns, and a right program may return None. Look at `w` after the call.
# Тест использует то, что вернула программа, а правильная программа может вернуть None. Смотреть нужно на `w` после
#     вызова.
def is_right_td(td):
    w = torch.tensor([0.1, 0.2, 0.3], requires_grad=True)
    return abs(td(w, _WALK, 0.9, 0.8, 0.5)[0] - 0.08) < 1e-5

# %% mistake="compares_the_result" like="uses_the_result"
def is_right_td(td):
    w = torch.tensor([0.1, 0.2, 0.3], requires_grad=True)
    return torch.allclose(td(w, _WALK, 0.9, 0.8, 0.5), w)

# %% mistake="goes_through_the_result" like="uses_the_result"
def is_right_td(td):
    w = torch.tensor([0.1, 0.2, 0.3], requires_grad=True)
    return all(abs(each) < 1 for each in td(w, _WALK, 0.9, 0.8, 0.5))

# %% mistake="next_state_is_none" theme="test"
# In the test the state after an end is None, or no index of the table, and a program that looks there raises an error
#     instead of being refused. By the contract both states are indices.
# В тесте состояние после конца эпизода — None или не индекс таблицы, и программа, которая туда заглядывает, завершается
#     ошибкой, а не отвергается. По условию оба состояния — индексы.
def is_right_td(td):
    return _test(td, [*_WALK[:3], (2, 1.0, None, True, False), *_CUT])

# %% mistake="next_state_is_no_index" like="next_state_is_none"
def is_right_td(td):
    return _test(td, [*_WALK[:3], (2, 1.0, 3, True, False), *_CUT])

# %% mistake="one_short_episode" like="one_terminated_episode"
def is_right_td(td):
    return _test(td, [(0, 0.0, 1, False, False), (1, 0.0, 2, False, False), (2, 1.0, 0, True, False)])

# %% mistake="gamma_of_one_without_revisits" like="gamma_of_one"
def is_right_td(td):
    walk = [(0, 0.0, 1, False, False), (1, 0.5, 2, False, False), (2, 1.0, 0, True, False)]
    return _test(td, walk + _CUT + walk, gamma=1.0)
