# %% mistake="both_unseen" theme="in_place"
# Both edits go past the version counter. `.data` and a NumPy array share the memory of `h`, but not its counter.
# Оба изменения сделаны в обход счётчика версий. У `.data` и у массива NumPy общая с `h` память, но не счётчик.
def overwrite(h, values, noticed):
    h.data.copy_(values)

# %% mistake="both_seen" theme="in_place"
# Both edits move the version counter. `no_grad()` stops recording, not counting, and what `detach()` returns shares
#     the counter.
# Оба изменения увеличивают счётчик версий. Режим `no_grad()` выключает отслеживание, но не счётчик, а у результата
#     `detach()` счётчик общий с исходным тензором.
def overwrite(h, values, noticed):
    h.detach().copy_(values)

# %% mistake="swapped" theme="in_place"
# The two ways are the wrong way round: it is the edit through `.data` that autograd does not see.
# Два способа перепутаны: без ведома autograd тензор изменяется как раз через `.data`.
def overwrite(h, values, noticed):
    (h.data if noticed else h.detach()).copy_(values)

# %% mistake="writes_elsewhere" theme="in_place"
# The caller's tensor has not changed: the numbers went elsewhere, for example under a new name or into a copy, or
#     nowhere.
# Тензор вызывающего кода не изменился: числа записаны в другое место, например под новым именем или в копию, либо
#     не записаны вовсе.
def overwrite(h, values, noticed):
    h.detach().clone().copy_(values)

# %% mistake="switches_the_flag_off" theme="recording"
# `requires_grad` is switched off for the edit. That flag can be changed at leaves only, and `h` is a result.
# На время изменения выключается `requires_grad`. Этот флаг можно менять только у листьев, а `h` — результат
#     операции.
def overwrite(h, values, noticed):
    h.requires_grad_(False)
    h.copy_(values)

# %% mistake="shares_the_values" theme="in_place"
# `h.data` was given the tensor `values` itself. They are now two names for one memory, and an edit of one shows in
#     the other.
# Полю `h.data` присвоен сам тензор `values`. Теперь это два имени одной памяти, и изменение одного видно в другом.
def overwrite(h, values, noticed):
    h.data = values
    if noticed:
        h.detach().mul_(1)

# %% mistake="assigns_new_memory" theme="in_place"
# `h.data` was given a new tensor. `h` shows the new numbers, but where the graph kept the old memory, as `exp` does
#     with its result, it still holds the old ones.
# Полю `h.data` присвоен новый тензор. В `h` видны новые числа, но граф мог сохранить прежнюю память (так `exp`
#     сохраняет свой результат), и в ней лежат старые.
def overwrite(h, values, noticed):
    if noticed:
        h.detach().copy_(values)
    else:
        h.data = values.clone()

# %% mistake="rebinds_the_name" theme="in_place"
# With `noticed=True` the caller's tensor keeps its old numbers: `values` was written elsewhere, for example bound
#     to the name `h`, or nowhere.
# При `noticed=True` в тензоре вызывающего кода остались прежние числа: `values` записан в другое место, например
#     связан с именем `h`, или никуда не записан.
def overwrite(h, values, noticed):
    if noticed:
        h = values
    else:
        h.data.copy_(values)

# %% mistake="adds_the_values" theme="accumulation"
# `values` was added to `h`. It should stand there in place of the old numbers.
# Тензор `values` прибавлен к `h`, а должен встать на место прежних чисел.
def overwrite(h, values, noticed):
    (h.detach() if noticed else h.data).add_(values)

# %% mistake="copies_the_wrong_way" theme="in_place"
# The copy goes the wrong way: the numbers of `h` were written into `values`.
# Копирование идёт не в ту сторону: числа из `h` записаны в `values`.
def overwrite(h, values, noticed):
    (values.detach() if noticed else values.data).copy_(h.detach())

# %% mistake="writes_into_a_copy" theme="in_place"
# With `noticed=False` the caller's tensor keeps its old numbers: `values` was written into a copy, or nowhere.
# При `noticed=False` в тензоре вызывающего кода остались прежние числа: `values` записан в копию или никуда не
#     записан.
def overwrite(h, values, noticed):
    (h.detach() if noticed else h.detach().clone()).copy_(values)

# %% mistake="rebinds_and_shares" theme="in_place"
# With `noticed=True` the caller's tensor keeps its old numbers, and with `noticed=False` `h.data` was given the
#     tensor `values` itself: two names for one memory.
# При `noticed=True` в тензоре вызывающего кода остались прежние числа, а при `noticed=False` полю `h.data` присвоен
#     сам тензор `values`: это два имени одной памяти.
def overwrite(h, values, noticed):
    if not noticed:
        h.data = values

# %% mistake="flattens" theme="in_place"
# The numbers of a tensor that is not contiguous went into a copy: `flatten()` and `reshape(-1)` share memory only
#     where they can.
# Числа не попали в тензор, который лежит в памяти не подряд: `flatten()` и `reshape(-1)` используют ту же память,
#     только если это возможно, а иначе создают копию.
def overwrite(h, values, noticed):
    (h.detach() if noticed else h.data).reshape(-1).copy_(values.reshape(-1))

# %% mistake="flattens_when_unnoticed" like="flattens"
def overwrite(h, values, noticed):
    if noticed:
        h.detach().copy_(values)
    else:
        h.data.reshape(-1).copy_(values.reshape(-1))

# %% mistake="asks_for_a_flat_view" theme="in_place"
# A flat view of `h` is asked for. There is none of a tensor that is not contiguous; `copy_` needs no view.
# Запрошено плоское представление `h`. У тензора, который лежит в памяти не подряд, его нет; для `copy_`
#     представление не нужно.
def overwrite(h, values, noticed):
    if noticed:
        h.detach().copy_(values)
    else:
        h.data.view(-1).copy_(values.reshape(-1))

# %% mistake="writes_the_first_entry" theme="missing"
# Only `h[0]` gets its new number. All of `values` belongs into `h`.
# Новое число записано только в `h[0]`, а в `h` нужно записать весь `values`.
def overwrite(h, values, noticed):
    (h.detach() if noticed else h.data)[0] = values[0]

# %% mistake="takes_an_array_of_a_result" theme="recording"
# `numpy()` is called on a tensor that requires grad. Torch allows it on `h.detach()`.
# Метод `numpy()` вызван для тензора, который требует градиента. Torch разрешает это для `h.detach()`.
def overwrite(h, values, noticed):
    if noticed:
        h.detach().copy_(values)
    else:
        h.numpy()[...] = values.numpy()

# %% mistake="sets_the_version" theme="in_place"
# A number is assigned to `_version`. The counter is read-only: only an in-place operation moves it.
# Полю `_version` присваивается число. Этот счётчик можно только читать: увеличивает его операция с изменением на
#     месте.
def overwrite(h, values, noticed):
    h.data.copy_(values)
    if noticed:
        h._version += 1

# %% mistake="rounds_the_values" theme="precision"
# `values` is rounded to float32 on the way into `h`.
# По пути в `h` числа из `values` округлены до float32.
def overwrite(h, values, noticed):
    (h.detach() if noticed else h.data).copy_(values.float())

# %% mistake="shares_when_unnoticed" like="assigns_new_memory"
def overwrite(h, values, noticed):
    if noticed:
        h.detach().copy_(values)
    else:
        h.data = values
