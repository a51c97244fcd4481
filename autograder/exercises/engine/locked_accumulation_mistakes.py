"""Mistakes of `locked_accumulation`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from .locked_accumulation import locked_accumulation


def _gradient(w: Tensor, loss_of: Callable[[Tensor], Tensor]) -> Tensor:
    (gradient,) = torch.autograd.grad(loss_of(w), w)
    return gradient


def _add(w: Tensor, gradient: Tensor) -> None:
    w.grad = gradient.clone() if w.grad is None else w.grad + gradient


@locked_accumulation.mistake(
    en="`w.grad` is read and written without the lock. Two threads can read the same old value, and then one of the two "
    "gradients is lost.",
    ru="К `w.grad` обращаются без блокировки, и при чтении, и при записи. Два потока могут прочесть одно и то же старое "
    "значение, и тогда один из двух градиентов пропадёт.",
)
def adds_without_lock(w: Tensor, loss_of: Any, lock: Any) -> Tensor:
    gradient = _gradient(w, loss_of)
    _add(w, gradient)
    return gradient


@locked_accumulation.mistake(
    en="What comes back is what `w.grad` holds: the sum over all threads so far, not this thread's gradient.",
    ru="Возвращается то, что лежит в `w.grad`: сумма по всем потокам, а не градиент этого потока.",
)
def returns_the_shared_sum(w: Tensor, loss_of: Any, lock: Any) -> Tensor:
    loss_of(w).backward()
    with lock:
        return w.grad.clone()  # type: ignore[union-attr]


@locked_accumulation.mistake(
    en="What is returned shares its memory with `w.grad`. The next thread adds there in place, and the returned gradient "
    "changes.",
    ru="У возвращённого тензора и у `w.grad` общая память. Следующий поток прибавит туда на месте, и возвращённый "
    "градиент изменится.",
)
def shares_the_tensor(w: Tensor, loss_of: Any, lock: Any) -> Tensor:
    gradient = _gradient(w, loss_of)
    with lock:
        if w.grad is None:
            w.grad = gradient
        else:
            w.grad += gradient
    return gradient


@locked_accumulation.mistake(
    en="The gradient that is put into an empty `w.grad` shares its memory with the returned one. The next `backward()` "
    "adds there in place, and the returned gradient changes.",
    ru="У градиента, который положен в пустое поле `w.grad`, и у возвращённого общая память. Следующий вызов `backward()` "
    "прибавит туда на месте, и возвращённый градиент изменится.",
)
def shares_the_first(w: Tensor, loss_of: Any, lock: Any) -> Tensor:
    gradient = _gradient(w, loss_of)
    with lock:
        w.grad = gradient if w.grad is None else w.grad + gradient
    return gradient


@locked_accumulation.mistake(
    en="`w.grad` itself comes back: the sum over all threads so far, which every later `backward()` changes.",
    ru="Возвращается само поле `w.grad`: сумма по всем потокам, которую изменит любой следующий вызов `backward()`.",
)
def returns_the_field(w: Tensor, loss_of: Any, lock: Any) -> Tensor | None:
    gradient = _gradient(w, loss_of)
    with lock:
        _add(w, gradient)
        return w.grad


@locked_accumulation.mistake(
    en="What comes back is all that `w.grad` has gained during the pass. Meanwhile other threads have added theirs.",
    ru="Возвращается всё, что прибавилось в `w.grad` за время прохода. Но за это время прибавляли и другие потоки.",
)
def returns_the_difference(w: Tensor, loss_of: Any, lock: Any) -> Tensor:
    with lock:
        before = torch.zeros_like(w) if w.grad is None else w.grad.clone()
    loss_of(w).backward()
    with lock:
        return w.grad - before  # type: ignore[operator, return-value]


@locked_accumulation.mistake(
    en="`w.grad` is None before the first gradient, and nothing can be added to None.",
    ru="До первого градиента в `w.grad` лежит None, а прибавить к None ничего нельзя.",
)
def expects_a_gradient(w: Tensor, loss_of: Any, lock: Any) -> Tensor:
    gradient = _gradient(w, loss_of)
    with lock:
        w.grad += gradient  # type: ignore[operator]
    return gradient


@locked_accumulation.mistake(
    en="`w.grad` is written after the lock was released.",
    ru="Запись в `w.grad` происходит уже после того, как блокировка освобождена.",
)
def writes_after_releasing(w: Tensor, loss_of: Any, lock: Any) -> Tensor:
    gradient = _gradient(w, loss_of)
    with lock:
        total = gradient.clone() if w.grad is None else w.grad + gradient
    w.grad = total
    return gradient


@locked_accumulation.mistake(
    en="The lock is released between reading `w.grad` and writing it. What another thread adds in between is lost.",
    ru="Между чтением `w.grad` и записью блокировка освобождается. То, что прибавит в это время другой поток, пропадёт.",
)
def releases_in_between(w: Tensor, loss_of: Any, lock: Any) -> Tensor:
    gradient = _gradient(w, loss_of)
    with lock:
        before = w.grad
    total = gradient.clone() if before is None else before + gradient
    with lock:
        w.grad = total
    return gradient


@locked_accumulation.mistake(
    en="`acquire` may return False: another thread has the lock, and here `w.grad` is read and written all the same.",
    ru="Метод `acquire` может вернуть False: блокировка у другого потока, а к `w.grad` здесь всё равно обращаются.",
)
def tries_once(w: Tensor, loss_of: Any, lock: Any) -> Tensor:
    gradient = _gradient(w, loss_of)
    acquired = lock.acquire(blocking=False)
    _add(w, gradient)
    if acquired:
        lock.release()
    return gradient


@locked_accumulation.mistake(
    en="Forward and backward pass run under the lock. The threads then take turns, and there is no gain over one thread.",
    ru="Прямой и обратный проходы выполняются, пока захвачена блокировка. Тогда потоки работают по очереди, и выигрыша перед одним "
    "потоком нет.",
)
def computes_under_lock(w: Tensor, loss_of: Any, lock: Any) -> Tensor:
    with lock:
        gradient = _gradient(w, loss_of)
        _add(w, gradient)
    return gradient


@locked_accumulation.mistake(
    en="The backward pass runs under the lock, though it needs only the thread's own graph.",
    ru="Обратный проход выполняется, пока захвачена блокировка, хотя ему нужен только граф этого потока.",
)
def differentiates_under_lock(w: Tensor, loss_of: Any, lock: Any) -> Tensor:
    loss = loss_of(w)
    with lock:
        (gradient,) = torch.autograd.grad(loss, w)
        _add(w, gradient)
    return gradient


@locked_accumulation.mistake(
    en="`lock` is acquired and never released: the next thread would wait for ever. `with lock:` releases it.",
    ru="Блокировка `lock` захвачена, но не освобождена: следующий поток ждал бы вечно. Блок `with lock:` освобождает её сам.",
)
def never_releases(w: Tensor, loss_of: Any, lock: Any) -> Tensor:
    gradient = _gradient(w, loss_of)
    lock.acquire()
    _add(w, gradient)
    return gradient


@locked_accumulation.mistake(
    en="`lock` is acquired twice by one thread, which then waits for itself for ever.",
    ru="Один и тот же поток захватывает `lock` дважды и будет вечно ждать самого себя.",
)
def locks_twice(w: Tensor, loss_of: Any, lock: Any) -> Tensor:
    gradient = _gradient(w, loss_of)
    with lock, lock:
        _add(w, gradient)
    return gradient


@locked_accumulation.mistake(
    en="The gradient is taken from a hook on `w`. All threads share `w`: the hook sees the gradients of the others as well.",
    ru="Градиент взят из хука на `w`. Но `w` у всех потоков общий, и хук видит также градиенты других потоков.",
)
def hooks_the_shared_leaf(w: Tensor, loss_of: Any, lock: Any) -> Tensor:
    return _hooked(w, loss_of)[0]


@locked_accumulation.mistake(
    en="The last gradient that a hook on `w` has seen is returned. All threads share `w`: it may be that of another.",
    ru="Возвращён последний градиент, который видел хук на `w`. Но `w` у всех потоков общий, и это может быть градиент "
    "другого потока.",
)
def keeps_the_last_hooked(w: Tensor, loss_of: Any, lock: Any) -> Tensor:
    return _hooked(w, loss_of)[-1]


def _hooked(w: Tensor, loss_of: Callable[[Tensor], Tensor]) -> list[Tensor]:
    seen: list[Tensor] = []
    handle = w.register_hook(lambda gradient: seen.append(gradient.clone()))
    loss_of(w).backward()
    handle.remove()
    return seen


@locked_accumulation.mistake(
    en="`w.grad` is looked at before the lock is held. Until it is held, another thread may change what was read.",
    ru="Поле `w.grad` читают ещё до того, как захвачена блокировка. За это время другой поток может изменить прочитанное.",
)
def reads_before_locking(w: Tensor, loss_of: Any, lock: Any) -> Tensor:
    gradient = _gradient(w, loss_of)
    total = gradient.clone() if w.grad is None else w.grad + gradient
    with lock:
        w.grad = total
    return gradient


@locked_accumulation.mistake(
    en="`w.grad` is replaced, and what the other threads put there is gone.",
    ru="Содержимое `w.grad` заменено, и то, что положили туда другие потоки, пропало.",
)
def replaces_the_sum(w: Tensor, loss_of: Any, lock: Any) -> Tensor:
    gradient = _gradient(w, loss_of)
    with lock:
        w.grad = gradient.clone()
    return gradient


@locked_accumulation.mistake(
    en="Nothing is added to `w.grad`: `torch.autograd.grad` only returns the gradient.",
    ru="К `w.grad` ничего не прибавлено: функция `torch.autograd.grad` только возвращает градиент.",
)
def adds_nothing(w: Tensor, loss_of: Any, lock: Any) -> Tensor:
    return _gradient(w, loss_of)


@locked_accumulation.mistake(
    en="The gradient is added twice: `backward()` has put it into `w.grad` already.",
    ru="Градиент прибавлен дважды: метод `backward()` уже положил его в `w.grad`.",
)
def adds_twice(w: Tensor, loss_of: Any, lock: Any) -> Tensor:
    loss = loss_of(w)
    (gradient,) = torch.autograd.grad(loss, w, retain_graph=True)
    loss.backward()
    with lock:
        _add(w, gradient)
    return gradient


@locked_accumulation.mistake(
    en="`loss_of` is called twice, once for `backward()` and once for the returned gradient. One graph is enough.",
    ru="Функция `loss_of` вызвана дважды: один раз для `backward()`, другой — для возвращаемого градиента. Хватит одного "
    "графа.",
)
def computes_twice(w: Tensor, loss_of: Any, lock: Any) -> Tensor:
    loss_of(w).backward()
    return _gradient(w, loss_of)


@locked_accumulation.mistake(
    en="`loss_of` runs under the lock, though it needs nothing but the thread's own graph.",
    ru="Функция `loss_of` выполняется, пока захвачена блокировка, хотя нужен ей только граф своего потока.",
)
def evaluates_under_lock(w: Tensor, loss_of: Any, lock: Any) -> Tensor:
    with lock:
        loss = loss_of(w)
    (gradient,) = torch.autograd.grad(loss, w)
    with lock:
        _add(w, gradient)
    return gradient


@locked_accumulation.mistake(*locked_accumulation.mistakes["returns_the_field"].says)
def returns_the_field_later(w: Tensor, loss_of: Any, lock: Any) -> Tensor | None:
    gradient = _gradient(w, loss_of)
    with lock:
        _add(w, gradient)
    return w.grad


@locked_accumulation.mistake(
    en="What `w.grad` held is added in place to the gradient that comes back. It is not the gradient of this call's loss "
    "alone any more.",
    ru="То, что лежало в `w.grad`, прибавлено на месте к возвращаемому градиенту. Теперь это уже не градиент одной этой функции "
    "потерь.",
)
def adds_to_its_own(w: Tensor, loss_of: Any, lock: Any) -> Tensor:
    gradient = _gradient(w, loss_of)
    with lock:
        if w.grad is not None:
            gradient += w.grad
        w.grad = gradient.clone()
    return gradient


@locked_accumulation.mistake(
    en="As long as `w.grad` is None, nothing is put there: the first gradients are lost.",
    ru="Пока в `w.grad` лежит None, туда ничего не попадает: первые градиенты потеряны.",
)
def leaves_none(w: Tensor, loss_of: Any, lock: Any) -> Tensor:
    gradient = _gradient(w, loss_of)
    with lock:
        if w.grad is not None:
            w.grad = w.grad + gradient
    return gradient


@locked_accumulation.mistake(*locked_accumulation.mistakes["expects_a_gradient"].says)
def expects_a_summand(w: Tensor, loss_of: Any, lock: Any) -> Tensor:
    gradient = _gradient(w, loss_of)
    with lock:
        w.grad = w.grad + gradient  # type: ignore[operator]
    return gradient


@locked_accumulation.mistake(
    en="Nothing was returned: `return` is missing.",
    ru="Функция ничего не возвращает: забыт `return`.",
)
def forgets_to_return(w: Tensor, loss_of: Any, lock: Any) -> None:
    gradient = _gradient(w, loss_of)
    with lock:
        _add(w, gradient)


@locked_accumulation.mistake(
    en="The whole tuple of `torch.autograd.grad` comes back. Asked for is the tensor in it.",
    ru="Возвращён весь кортеж, который даёт `torch.autograd.grad`, а нужен тензор из него.",
)
def returns_the_tuple(w: Tensor, loss_of: Any, lock: Any) -> tuple[Tensor, ...]:
    gradients = torch.autograd.grad(loss_of(w), w)
    with lock:
        _add(w, gradients[0])
    return gradients


@locked_accumulation.mistake(*locked_accumulation.mistakes["shares_the_first"].says)
def shares_the_copys_gradient(w: Tensor, loss_of: Any, lock: Any) -> Tensor | None:
    copy = w.detach().clone().requires_grad_()
    loss_of(copy).backward()
    with lock:
        if w.grad is None:
            w.grad = copy.grad
        else:
            w.grad += copy.grad  # type: ignore[operator, arg-type]
    return copy.grad
