# %%
import torch


def _gradient(w, loss_of):
    (gradient,) = torch.autograd.grad(loss_of(w), w)
    return gradient


def _add(w, gradient):
    w.grad = gradient.clone() if w.grad is None else w.grad + gradient


def _hooked(w, loss_of):
    seen = []
    handle = w.register_hook(lambda gradient: seen.append(gradient.clone()))
    loss_of(w).backward()
    handle.remove()
    return seen

# %% mistake="adds_without_lock" theme="own"
# `w.grad` is read and written while `lock` is not held: with no lock, or with one of the answer's own, which every call
#     makes anew. Two threads can read the same old value, and then one of the two gradients is lost.
# Код читает и меняет `w.grad`, не захватив `lock`: без всякой блокировки или с собственной, которую каждый вызов
#     создаёт заново. Два потока могут прочесть одно и то же старое значение, и тогда один из двух градиентов пропадёт.
def locked_accumulation(w, loss_of, lock):
    gradient = _gradient(w, loss_of)
    _add(w, gradient)
    return gradient

# %% mistake="returns_the_shared_sum" theme="accumulation"
# What comes back is what `w.grad` holds: the sum over all threads so far, not this thread's gradient.
# Возвращается то, что лежит в `w.grad`: сумма по всем потокам, а не градиент этого потока.
def locked_accumulation(w, loss_of, lock):
    loss_of(w).backward()
    with lock:
        return w.grad.clone()

# %% mistake="shares_the_tensor" theme="in_place"
# What is returned shares its memory with `w.grad`. The next thread adds there in place, and the returned gradient
#     changes.
# У возвращённого тензора и у `w.grad` общая память. Следующий поток прибавит туда на месте свой градиент, и
#     возвращённый тензор изменится.
def locked_accumulation(w, loss_of, lock):
    gradient = _gradient(w, loss_of)
    with lock:
        if w.grad is None:
            w.grad = gradient
        else:
            w.grad += gradient
    return gradient

# %% mistake="shares_the_first" theme="in_place"
# The gradient that is put into an empty `w.grad` shares its memory with the returned one. The next `backward()`
#     adds there in place, and the returned gradient changes.
# У градиента, который положен в пустое поле `w.grad`, и у возвращённого общая память. Следующий вызов `backward()`
#     прибавит туда на месте свой градиент, и возвращённый тензор изменится.
def locked_accumulation(w, loss_of, lock):
    gradient = _gradient(w, loss_of)
    with lock:
        w.grad = gradient if w.grad is None else w.grad + gradient
    return gradient

# %% mistake="returns_the_field" theme="in_place"
# `w.grad` itself comes back: the sum over all threads so far, which every later `backward()` changes.
# Возвращается само поле `w.grad`: сумма по всем потокам, которую изменит любой следующий вызов `backward()`.
def locked_accumulation(w, loss_of, lock):
    gradient = _gradient(w, loss_of)
    with lock:
        _add(w, gradient)
        return w.grad

# %% mistake="returns_the_difference" theme="accumulation"
# What comes back is all that `w.grad` has gained during the pass. Meanwhile other threads have added theirs.
# Возвращается всё, что прибавилось в `w.grad` за время прохода. Но за это время прибавляли и другие потоки.
def locked_accumulation(w, loss_of, lock):
    with lock:
        before = torch.zeros_like(w) if w.grad is None else w.grad.clone()
    loss_of(w).backward()
    with lock:
        return w.grad - before

# %% mistake="expects_a_gradient" theme="missing"
# `w.grad` is None before the first gradient, and nothing can be added to None.
# До первого градиента в `w.grad` лежит None, а прибавить к None ничего нельзя.
def locked_accumulation(w, loss_of, lock):
    gradient = _gradient(w, loss_of)
    with lock:
        w.grad += gradient
    return gradient

# %% mistake="writes_after_releasing" theme="order"
# `w.grad` is written after the lock was released.
# Запись в `w.grad` происходит уже после того, как блокировка освобождена.
def locked_accumulation(w, loss_of, lock):
    gradient = _gradient(w, loss_of)
    with lock:
        total = gradient.clone() if w.grad is None else w.grad + gradient
    w.grad = total
    return gradient

# %% mistake="releases_in_between" theme="order"
# The lock is released between reading `w.grad` and writing it. What another thread adds in between is lost.
# Между чтением `w.grad` и записью блокировка освобождается. То, что прибавит в это время другой поток, пропадёт.
def locked_accumulation(w, loss_of, lock):
    gradient = _gradient(w, loss_of)
    with lock:
        before = w.grad
    total = gradient.clone() if before is None else before + gradient
    with lock:
        w.grad = total
    return gradient

# %% mistake="tries_once" theme="own"
# `acquire` may return False: another thread has the lock, and here `w.grad` is read and written all the same.
# Метод `acquire` может вернуть False, если блокировка у другого потока. А код всё равно обращается к `w.grad`.
def locked_accumulation(w, loss_of, lock):
    gradient = _gradient(w, loss_of)
    acquired = lock.acquire(blocking=False)
    _add(w, gradient)
    if acquired:
        lock.release()
    return gradient

# %% mistake="computes_under_lock" theme="cost"
# Forward and backward pass run under the lock. The threads then take turns, and there is no gain over one thread.
# Прямой и обратный проходы выполняются, пока захвачена блокировка. Тогда потоки работают по очереди, и выигрыша по
#     сравнению с одним потоком нет.
def locked_accumulation(w, loss_of, lock):
    with lock:
        gradient = _gradient(w, loss_of)
        _add(w, gradient)
    return gradient

# %% mistake="differentiates_under_lock" theme="cost"
# The backward pass runs under the lock, though it needs only the thread's own graph.
# Обратный проход выполняется, пока захвачена блокировка, хотя ему нужен только граф этого потока.
def locked_accumulation(w, loss_of, lock):
    loss = loss_of(w)
    with lock:
        (gradient,) = torch.autograd.grad(loss, w)
        _add(w, gradient)
    return gradient

# %% mistake="never_releases" theme="state"
# `lock` is acquired and never released: the next thread would wait for ever. `with lock:` releases it.
# Блокировка `lock` захвачена, но не освобождена: следующий поток будет ждать вечно. Блок `with lock:` освобождает её
#     сам.
def locked_accumulation(w, loss_of, lock):
    gradient = _gradient(w, loss_of)
    lock.acquire()
    _add(w, gradient)
    return gradient

# %% mistake="locks_twice" theme="own"
# `lock` is acquired twice by one thread, which then waits for itself for ever.
# Один и тот же поток захватывает `lock` дважды и будет вечно ждать самого себя.
def locked_accumulation(w, loss_of, lock):
    gradient = _gradient(w, loss_of)
    with lock, lock:
        _add(w, gradient)
    return gradient

# %% mistake="hooks_the_shared_leaf" theme="own"
# The gradient is taken from a hook on `w`. All threads share `w`: the hook sees the gradients of the others as
#     well.
# Градиент взят из хука на `w`. Но `w` у всех потоков общий, и хук видит также градиенты других потоков.
def locked_accumulation(w, loss_of, lock):
    return _hooked(w, loss_of)[0]

# %% mistake="keeps_the_last_hooked" theme="own"
# The last gradient that a hook on `w` has seen is returned. All threads share `w`: it may be that of another.
# Возвращён последний градиент, который видел хук на `w`. Но `w` у всех потоков общий, и последним мог прийти градиент
#     другого потока.
def locked_accumulation(w, loss_of, lock):
    return _hooked(w, loss_of)[-1]

# %% mistake="reads_before_locking" theme="order"
# `w.grad` is looked at before the lock is held. Until it is held, another thread may change what was read.
# Поле `w.grad` читают ещё до того, как захвачена блокировка. За это время другой поток может изменить прочитанное.
def locked_accumulation(w, loss_of, lock):
    gradient = _gradient(w, loss_of)
    total = gradient.clone() if w.grad is None else w.grad + gradient
    with lock:
        w.grad = total
    return gradient

# %% mistake="replaces_the_sum" theme="accumulation"
# `w.grad` is replaced, and what the other threads put there is gone.
# Содержимое `w.grad` заменено, и то, что положили туда другие потоки, пропало.
def locked_accumulation(w, loss_of, lock):
    gradient = _gradient(w, loss_of)
    with lock:
        w.grad = gradient.clone()
    return gradient

# %% mistake="adds_nothing" theme="missing"
# Nothing is added to `w.grad`. What `torch.autograd.grad` does is only to return the gradient.
# К `w.grad` ничего не прибавлено. Функция `torch.autograd.grad` только возвращает градиент.
def locked_accumulation(w, loss_of, lock):
    return _gradient(w, loss_of)

# %% mistake="adds_twice" theme="accumulation"
# The gradient is added twice: `backward()` has put it into `w.grad` already.
# Градиент прибавлен дважды: метод `backward()` уже положил его в `w.grad`.
def locked_accumulation(w, loss_of, lock):
    loss = loss_of(w)
    (gradient,) = torch.autograd.grad(loss, w, retain_graph=True)
    loss.backward()
    with lock:
        _add(w, gradient)
    return gradient

# %% mistake="computes_twice" theme="cost"
# `loss_of` is called twice. One graph is enough, for the sum and for the returned gradient.
# Функция `loss_of` вызвана дважды. Хватит одного графа и для суммы, и для возвращаемого градиента.
def locked_accumulation(w, loss_of, lock):
    loss_of(w).backward()
    return _gradient(w, loss_of)

# %% mistake="evaluates_under_lock" theme="cost"
# `loss_of` runs under the lock, though it needs nothing but the thread's own graph.
# Функция `loss_of` выполняется, пока захвачена блокировка, хотя нужен ей только граф своего потока.
def locked_accumulation(w, loss_of, lock):
    with lock:
        loss = loss_of(w)
    (gradient,) = torch.autograd.grad(loss, w)
    with lock:
        _add(w, gradient)
    return gradient

# %% mistake="returns_the_field_later" like="returns_the_field"
def locked_accumulation(w, loss_of, lock):
    gradient = _gradient(w, loss_of)
    with lock:
        _add(w, gradient)
    return w.grad

# %% mistake="adds_to_its_own" theme="in_place"
# What `w.grad` held is added in place to the gradient that comes back. It is not the gradient of this call's loss
#     alone any more.
# То, что лежало в `w.grad`, прибавлено на месте к возвращаемому градиенту. Теперь это уже не градиент одной этой
#     функции потерь.
def locked_accumulation(w, loss_of, lock):
    gradient = _gradient(w, loss_of)
    with lock:
        if w.grad is not None:
            gradient += w.grad
        w.grad = gradient.clone()
    return gradient

# %% mistake="leaves_none" theme="missing"
# As long as `w.grad` is None, the gradient is not put there: the first gradients are lost.
# Пока в `w.grad` лежит None, градиент туда не попадает: первые градиенты потеряны.
def locked_accumulation(w, loss_of, lock):
    gradient = _gradient(w, loss_of)
    with lock:
        if w.grad is not None:
            w.grad = w.grad + gradient
    return gradient

# %% mistake="forgets_to_return" theme="return"
# Nothing was returned: `return` is missing.
# Функция ничего не возвращает: забыт `return`.
def locked_accumulation(w, loss_of, lock):
    gradient = _gradient(w, loss_of)
    with lock:
        _add(w, gradient)

# %% mistake="returns_the_tuple" theme="missing"
# What comes back holds the gradient, such as the whole tuple of `torch.autograd.grad`. Asked for is the tensor in it.
# Возвращён не сам градиент, а то, в чём он лежит, например весь кортеж, который даёт `torch.autograd.grad`. Нужен
#     тензор из него.
def locked_accumulation(w, loss_of, lock):
    gradients = torch.autograd.grad(loss_of(w), w)
    with lock:
        _add(w, gradients[0])
    return gradients

# %% mistake="shares_the_copys_gradient" like="shares_the_first"
def locked_accumulation(w, loss_of, lock):
    copy = w.detach().clone().requires_grad_()
    loss_of(copy).backward()
    with lock:
        if w.grad is None:
            w.grad = copy.grad
        else:
            w.grad += copy.grad
    return copy.grad

# %% mistake="keeps_the_lock_once" theme="state"
# `lock` stays held where the function returns early, for instance when `.grad` is None. The next thread would wait for
#     ever. `with lock:` releases it in any case.
# Если функция завершается раньше, например когда в `.grad` лежит None, блокировка `lock` остаётся захваченной, и
#     следующий поток будет ждать вечно. Блок `with lock:` освобождает её в любом случае.
def locked_accumulation(w, loss_of, lock):
    gradient = _gradient(w, loss_of)
    lock.acquire()
    if w.grad is None:
        w.grad = gradient.clone()
        return gradient
    w.grad = w.grad + gradient
    lock.release()
    return gradient
