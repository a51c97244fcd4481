# %%


class _Reducer:
    """A reducer with flaws to choose, for the mistakes below."""

    def __init__(self, buckets, all_reduce, unused, ordered=True, resets=True, late=False, forgets=True):
        self.buckets, self.all_reduce, self.ordered = buckets, all_reduce, ordered
        self.resets, self.late, self.forgets = resets, late, forgets
        self.skipped = {id(parameter) for parameter in unused}
        self.waiting = []
        self.begin()

    def begin(self):
        if self.forgets or not self.waiting:
            self.waiting = [{id(parameter) for parameter in bucket} - self.skipped for bucket in self.buckets]
        self.reduced = []

    def arrive(self, parameter):
        for waiting in self.waiting:
            waiting.discard(id(parameter))
        if not self.late or not any(self.waiting):
            self.reduce()

    def reduce(self):
        for index, waiting in enumerate(self.waiting):
            if waiting and self.ordered:
                return
            if not waiting and index not in self.reduced:
                self.reduced.append(index)
                self.all_reduce(index)

    def finish(self):
        complete = len(self.reduced) == len(self.buckets)
        if self.resets or complete:
            self.begin()
        if not complete:
            raise RuntimeError("a bucket was not reduced")


def _hooked(reducer):
    for parameter in (parameter for bucket in reducer.buckets for parameter in bucket):
        parameter.register_post_accumulate_grad_hook(reducer.arrive)
    return reducer.finish

# %% mistake="in_order_of_completion" theme="order"
# A bucket goes as soon as it is complete, even if one before it is not. Two processes could then wait for each
#     other with different buckets.
# Корзина отправляется, как только она полна, даже если одна из предыдущих ещё не готова. Тогда два процесса могли
#     бы ждать друг друга с разными корзинами.
def watch_buckets(buckets, all_reduce, unused=()):
    return _hooked(_Reducer(buckets, all_reduce, unused, ordered=False))

# %% mistake="all_at_the_end" theme="order"
# All buckets go at the end of the pass. They have to go while the pass is still at work: that is what buckets are
#     for.
# Все корзины отправляются в конце прохода. А они должны уходить, пока проход ещё идёт: для этого корзины и нужны.
def watch_buckets(buckets, all_reduce, unused=()):
    return _hooked(_Reducer(buckets, all_reduce, unused, late=True))

# %% mistake="with_tensor_hooks" theme="order"
# A tensor hook counts the gradients. It runs before they are in `.grad`, so what is reduced is not there yet.
# Градиенты подсчитывает хук тензора. Он выполняется раньше, чем они попадают в `.grad`, и отправляется не то.
def watch_buckets(buckets, all_reduce, unused=()):
    reducer = _Reducer(buckets, all_reduce, unused)
    for parameter in (parameter for bucket in buckets for parameter in bucket):
        parameter.register_hook(lambda _, parameter=parameter: reducer.arrive(parameter))
    return reducer.finish

# %% mistake="waits_for_unused" theme="missing"
# `unused` is not looked at: a bucket with an unused parameter waits for ever.
# Аргумент `unused` не учтён: корзина с неиспользуемым параметром ждёт вечно.
def watch_buckets(buckets, all_reduce, unused=()):
    return _hooked(_Reducer(buckets, all_reduce, ()))

# %% mistake="never_raises" theme="missing"
# `finish()` never raises: a bucket that was not reduced goes unnoticed.
# `finish()` никогда не вызывает ошибки: корзина, которую не отправили, останется незамеченной.
def watch_buckets(buckets, all_reduce, unused=()):
    reducer = _Reducer(buckets, all_reduce, unused)
    _hooked(reducer)
    return reducer.begin

# %% mistake="goes_on_after_an_error" theme="state"
# After a pass that was not finished the next one does not begin anew: it goes on with what had arrived.
# После незавершённого прохода следующий не начинается заново, а продолжает с тем, что уже пришло.
def watch_buckets(buckets, all_reduce, unused=()):
    return _hooked(_Reducer(buckets, all_reduce, unused, resets=False))

# %% mistake="watches_one_pass" theme="order"
# In the second pass `all_reduce` is not called at all: nothing begins anew after the first one.
# Во втором проходе функция `all_reduce` не вызывается вообще: после первого ничего не начинается заново.
def watch_buckets(buckets, all_reduce, unused=()):
    reducer = _Reducer(buckets, all_reduce, unused)
    _hooked(reducer)
    return lambda: None

# %% mistake="returns_nothing" theme="return"
# No function comes back, so there is no `finish()` to call, and no second pass.
# Функция не возвращена: вызвать `finish()` нельзя, а значит, нет и второго прохода.
def watch_buckets(buckets, all_reduce, unused=()):
    _hooked(_Reducer(buckets, all_reduce, unused))

# %% mistake="for_every_gradient" theme="order"
# `all_reduce` is called after every gradient, not once for each bucket.
# Функция `all_reduce` вызывается после каждого градиента, а не один раз для корзины.
def watch_buckets(buckets, all_reduce, unused=()):
    reducer = _Reducer(buckets, all_reduce, unused)

    def hook(parameter):
        index = next(i for i, bucket in enumerate(buckets) if any(parameter is each for each in bucket))
        all_reduce(index)
        reducer.arrive(parameter)

    reducer.all_reduce = lambda index: None
    for parameter in (parameter for bucket in buckets for parameter in bucket):
        parameter.register_post_accumulate_grad_hook(hook)
    return reducer.finish

# %% mistake="counts_earlier_gradients" theme="state"
# In a later pass buckets go too early: what came in an earlier pass, or still lies in `.grad`, counts as arrived.
# В следующем проходе корзины уходят слишком рано: пришедшим считается и то, что пришло в прежнем проходе или ещё
#     лежит в `.grad`.
def watch_buckets(buckets, all_reduce, unused=()):
    return _hooked(_Reducer(buckets, all_reduce, unused, forgets=False))

# %% mistake="sends_the_rest" theme="own"
# `finish()` calls `all_reduce` for the buckets that were not reduced. They are not complete, so they may not go.
# Функция `finish()` вызывает `all_reduce` для неотправленных корзин. Но они неполны, и отправлять их нельзя.
def watch_buckets(buckets, all_reduce, unused=()):
    reducer = _Reducer(buckets, all_reduce, unused)
    _hooked(reducer)

    def finish():
        for index in range(len(reducer.reduced), len(buckets)):
            all_reduce(index)
        reducer.finish()

    return finish

# %% mistake="sends_in_finish" theme="order"
# No bucket goes while the pass is at work. So it is when they go in `finish()`, after the pass.
# Пока проход идёт, не отправляется ни одна корзина. Так бывает, когда они отправляются в функции `finish()`, после
#     прохода.
def watch_buckets(buckets, all_reduce, unused=()):
    ready = []
    reducer = _Reducer(buckets, ready.append, unused)
    _hooked(reducer)

    def finish():
        for index in ready:
            all_reduce(index)
        ready.clear()
        reducer.finish()

    return finish

# %% mistake="one_for_each_gradient" theme="order"
# After a gradient one bucket goes at most. If it was holding up the next one, and that one is complete, both have
#     to go.
# После каждого градиента уходит не больше одной корзины. Если она задерживала следующую, а та уже полна, уйти
#     должны обе.
def watch_buckets(buckets, all_reduce, unused=()):
    reducer = _Reducer(buckets, all_reduce, unused)
    ready = []
    reducer.all_reduce = ready.append
    sent = []

    def hook(parameter):
        reducer.arrive(parameter)
        if len(sent) < len(ready):
            sent.append(ready[len(sent)])
            all_reduce(sent[-1])

    def finish():
        complete = len(sent) == len(buckets)
        reducer.begin()
        ready.clear()
        sent.clear()
        if not complete:
            raise RuntimeError("a bucket was not reduced")

    for parameter in (parameter for bucket in buckets for parameter in bucket):
        parameter.register_post_accumulate_grad_hook(hook)
    return finish

# %% mistake="gives_the_bucket" theme="missing"
# `all_reduce` gets the bucket itself. It has to get its number.
# Функция `all_reduce` получает саму корзину, а нужен её номер.
def watch_buckets(buckets, all_reduce, unused=()):
    return _hooked(_Reducer(buckets, lambda index: all_reduce(buckets[index]), unused))

# %% mistake="counts_from_one" theme="axes"
# The numbers given to `all_reduce` begin at 1. The first bucket has the number 0.
# Номера корзин, переданные в `all_reduce`, начинаются с 1, а у первой корзины номер 0.
def watch_buckets(buckets, all_reduce, unused=()):
    return _hooked(_Reducer(buckets, lambda index: all_reduce(index + 1), unused))

# %% mistake="from_the_last" theme="order"
# The buckets go in the opposite order: the last one of the list first.
# Корзины уходят в обратном порядке: последняя в списке — первой.
def watch_buckets(buckets, all_reduce, unused=()):
    return _hooked(_Reducer(buckets[::-1], lambda index: all_reduce(len(buckets) - 1 - index), unused))

# %% mistake="looks_into_a_list" theme="own"
# A whole tensor was asked for True or False. `in` on a list of tensors does that: it compares numbers. A `set`, a
#     dict or `is` compares identity.
# От целого тензора потребовалось значение True или False. Так бывает, когда оператор `in` применён к списку
#     тензоров: он сравнивает числа. Тот же ли это объект, проверяют с помощью `set`, словаря или оператора `is`.
def watch_buckets(buckets, all_reduce, unused=()):
    parameters = [parameter for bucket in buckets for parameter in bucket]
    return [parameter for parameter in parameters if parameter not in parameters[::-1]]

# %% mistake="raises_if_none_went" theme="missing"
# `finish()` raises only if no bucket at all was reduced. One that is missing is enough.
# `finish()` вызывает ошибку, только если не отправлено ни одной корзины. А достаточно одной неотправленной.
def watch_buckets(buckets, all_reduce, unused=()):
    reducer = _Reducer(buckets, all_reduce, unused)
    _hooked(reducer)

    def finish():
        went = bool(reducer.reduced)
        reducer.begin()
        if not went:
            raise RuntimeError("no bucket was reduced")

    return finish

# %% mistake="raises_another_error" theme="own"
# `finish()` raises another error. The contract says RuntimeError.
# `finish()` вызывает другую ошибку, а по условию нужна RuntimeError.
def watch_buckets(buckets, all_reduce, unused=()):
    reducer = _Reducer(buckets, all_reduce, unused)
    _hooked(reducer)

    def finish():
        try:
            reducer.finish()
        except RuntimeError as error:
            raise ValueError(str(error)) from None

    return finish

# %% mistake="clears_the_gradients" theme="accumulation"
# `.grad` of a bucket is cleared once it was reduced. What is in `.grad` is needed after the pass, and the next one
#     adds to it.
# Когда корзина отправлена, поля `.grad` её параметров обнуляются. Но то, что лежит в `.grad`, нужно и после прохода, а
#     следующий проход прибавляет к нему новые градиенты.
def watch_buckets(buckets, all_reduce, unused=()):
    def reduce_and_clear(index):
        all_reduce(index)
        for parameter in buckets[index]:
            parameter.grad = None

    return _hooked(_Reducer(buckets, reduce_and_clear, unused))

# %% mistake="watches_the_last_one" theme="order"
# A bucket goes when the gradient of its last parameter in the list comes, even if another one of its own is
#     missing.
# Корзина уходит, когда пришёл градиент её последнего по списку параметра, даже если другого градиента этой корзины
#     ещё нет.
def watch_buckets(buckets, all_reduce, unused=()):
    own = [[parameter for parameter in bucket if all(parameter is not each for each in unused)] for bucket in buckets]
    reducer = _Reducer([bucket[-1:] for bucket in own], all_reduce, unused)
    return _hooked(reducer)

# %% mistake="reduces_nothing" theme="graph_life"
# `all_reduce` is never called, and there is no hook on any parameter. Hooks on nodes of the graph that nothing
#     holds are gone by then; a hook on the parameter stays.
# Функция `all_reduce` ни разу не вызвана, и хуков на параметрах нет. Хуков на узлах графа, которые никто не
#     удерживает, к этому времени уже нет, а хук на параметре остаётся.
def watch_buckets(buckets, all_reduce, unused=()):
    return _Reducer(buckets, all_reduce, unused).finish

# %% mistake="counts_for_the_last" theme="own"
# There are hooks on the parameters, but `all_reduce` is never called: the first bucket never counts as complete. So
#     it is, for instance, if all hooks count for the last bucket, because a variable of the loop is read when the hook
#     runs.
# Хуки на параметрах стоят, но функция `all_reduce` ни разу не вызвана: первая корзина никогда не считается полной.
#     Так бывает, например, когда все хуки ведут счёт для последней корзины: переменная цикла читается, когда хук
#     выполняется.
def watch_buckets(buckets, all_reduce, unused=()):
    reducer = _Reducer(buckets, all_reduce, unused)
    for parameter in (parameter for bucket in buckets for parameter in bucket):
        parameter.register_post_accumulate_grad_hook(lambda _: reducer.waiting[-1].clear())
    return reducer.finish

# %% mistake="at_the_first_gradient" theme="order"
# A bucket goes when the first of its gradients comes. The others are missing in `.grad`.
# Корзина уходит, когда пришёл первый из её градиентов. Остальных в `.grad` ещё нет.
def watch_buckets(buckets, all_reduce, unused=()):
    reducer = _Reducer(buckets, all_reduce, unused)

    def hook(parameter):
        for waiting in reducer.waiting:
            if id(parameter) in waiting:
                waiting.clear()
        reducer.reduce()

    for parameter in (parameter for bucket in buckets for parameter in bucket):
        parameter.register_post_accumulate_grad_hook(hook)
    return reducer.finish

# %% mistake="sends_again" theme="order"
# A bucket that has gone goes again with every later gradient of the pass.
# Корзина, которая уже отправлена, уходит ещё раз с каждым следующим градиентом прохода.
def watch_buckets(buckets, all_reduce, unused=()):
    reducer = _Reducer(buckets, lambda index: None, unused)

    def hook(parameter):
        reducer.arrive(parameter)
        for index in reducer.reduced:
            all_reduce(index)

    for parameter in (parameter for bucket in buckets for parameter in bucket):
        parameter.register_post_accumulate_grad_hook(hook)
    return reducer.finish

# %% mistake="always_raises" theme="own"
# `finish()` raises although all buckets were reduced.
# `finish()` вызывает ошибку, хотя отправлены все корзины.
def watch_buckets(buckets, all_reduce, unused=()):
    reducer = _Reducer(buckets, all_reduce, unused)
    _hooked(reducer)

    def finish():
        reducer.begin()
        raise RuntimeError("a bucket was not reduced")

    return finish

# %% mistake="ignores_an_empty_pass" theme="missing"
# `finish()` raises nothing after a pass that has reached no parameter at all. No bucket was reduced in it, either.
# Функция `finish()` не вызывает ошибки после прохода, который не дошёл ни до одного параметра. Но и в нём корзины не
#     отправлены.
def watch_buckets(buckets, all_reduce, unused=()):
    reducer = _Reducer(buckets, all_reduce, unused)
    arrived = []
    for parameter in (parameter for bucket in buckets for parameter in bucket):
        parameter.register_post_accumulate_grad_hook(lambda each: (reducer.arrive(each), arrived.append(each)) and None)

    def finish():
        if arrived:
            arrived.clear()
            reducer.finish()

    return finish

# %% mistake="late_by_one_gradient" theme="order"
# The hook looks for complete buckets first and counts its own gradient afterwards. So every bucket goes one gradient
#     too late, and the last one not at all.
# Хук сначала ищет полные корзины и лишь потом учитывает свой градиент. Поэтому каждая корзина уходит на один градиент
#     позже, а последняя не уходит вовсе.
def watch_buckets(buckets, all_reduce, unused=()):
    reducer = _Reducer(buckets, all_reduce, unused)

    def hook(parameter):
        reducer.reduce()
        for waiting in reducer.waiting:
            waiting.discard(id(parameter))

    for parameter in (parameter for bucket in buckets for parameter in bucket):
        parameter.register_post_accumulate_grad_hook(hook)
    return reducer.finish
