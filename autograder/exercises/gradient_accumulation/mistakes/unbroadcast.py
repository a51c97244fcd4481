# %%
import torch


# %% mistake="leaves_it_wide" theme="axes"
# The gradient keeps the shape of the result. It has to be summed to the shape of the input.
# У градиента осталась форма результата. Его нужно суммировать до формы входа.
def unbroadcast(gradient, shape):
    return gradient.clone()

# %% mistake="sums_new_dimensions_only" theme="axes"
# New dimensions in front are summed, but a dimension that was stretched from 1 keeps its new size.
# По новым измерениям спереди сумма взята, но измерение размера 1, которое было растянуто, таким и осталось.
def unbroadcast(gradient, shape):
    while gradient.dim() > len(shape):
        gradient = gradient.sum(0)
    return gradient

# %% mistake="sums_stretched_ones_only" theme="axes"
# Stretched dimensions are summed, but those that broadcasting put in front are still there.
# По растянутым измерениям сумма взята, но измерения, добавленные спереди, остались.
def unbroadcast(gradient, shape):
    front = gradient.dim() - len(shape)
    for d, size in enumerate(shape):
        if size == 1:
            gradient = gradient.sum(front + d, keepdim=True)
    return gradient

# %% mistake="drops_the_ones" theme="axes"
# A stretched dimension is summed away. It has to stay, with size 1: `keepdim=True`.
# Растянутое измерение после суммирования исчезло. Оно должно остаться, но размера 1: `keepdim=True`.
def unbroadcast(gradient, shape):
    while gradient.dim() > len(shape):
        gradient = gradient.sum(0)
    return gradient.sum([d for d, size in enumerate(shape) if size == 1]) if 1 in shape else gradient

# %% mistake="averages" theme="scaling"
# Each entry is a mean over the copies. Every copy counts in full: it is the sum that is needed.
# Каждый элемент — среднее по копиям. Каждая копия учитывается целиком: нужна сумма.
def unbroadcast(gradient, shape):
    total = gradient.sum_to_size(shape)
    return total * (total.numel() / gradient.numel())

# %% mistake="takes_one_copy" theme="accumulation"
# The gradient of one copy stands for all of them. The gradients of the copies have to be added.
# Градиент одной копии взят вместо всех. Градиенты копий нужно складывать.
def unbroadcast(gradient, shape):
    while gradient.dim() > len(shape):
        gradient = gradient[0]
    for d, size in enumerate(shape):
        if size == 1:
            gradient = gradient.narrow(d, 0, 1)
    return gradient

# %% mistake="sums_everything" theme="axes"
# All entries are added into one number. Only the copies of one entry belong together.
# Все элементы сложены в одно число. Складывать нужно только копии одного и того же элемента.
def unbroadcast(gradient, shape):
    return gradient.clone() if gradient.shape == shape else gradient.sum().expand(shape)

# %% mistake="sums_at_the_end" theme="axes"
# Surplus dimensions are summed from the end. Broadcasting adds them in front.
# Лишние измерения суммируются с конца. Транслирование добавляет их спереди.
def unbroadcast(gradient, shape):
    while gradient.dim() > len(shape):
        gradient = gradient.sum(-1)
    for d, size in enumerate(shape):
        if size == 1:
            gradient = gradient.sum(d, keepdim=True)
    return gradient

# %% mistake="cuts_by_reshape" theme="axes"
# The first entries are cut out and put into the shape. A shape that fits says nothing about the numbers.
# Вырезаны первые элементы, и им придана нужная форма. То, что форма подошла, ещё не значит, что числа верны.
def unbroadcast(gradient, shape):
    return gradient.flatten()[: torch.Size(shape).numel()].reshape(shape)

# %% mistake="sums_over_no_dimensions" theme="axes"
# Where nothing was broadcast, the list of dimensions is empty, and torch then sums over all. Nothing may be summed there.
# Где транслирования не было, список измерений пуст, а torch тогда суммирует по всем. Там ничего не нужно суммировать.
def unbroadcast(gradient, shape):
    front = gradient.dim() - len(shape)
    copied = [d for d in range(gradient.dim()) if d < front or shape[d - front] != gradient.shape[d]]
    return gradient.sum(copied, keepdim=True).squeeze(tuple(range(front)))

# %% mistake="reshapes_the_sum_over_no_dimensions" like="sums_over_no_dimensions"
def unbroadcast(gradient, shape):
    front = gradient.dim() - len(shape)
    copied = [d for d in range(gradient.dim()) if d < front or shape[d - front] != gradient.shape[d]]
    return gradient.sum(copied).reshape(shape)

# %% mistake="sums_over_no_stretched_dimensions" like="sums_over_no_dimensions"
def unbroadcast(gradient, shape):
    while gradient.dim() > len(shape):
        gradient = gradient.sum(0)
    return gradient.sum([d for d, size in enumerate(shape) if size == 1], keepdim=True)

# %% mistake="sums_over_no_new_dimensions" like="sums_over_no_dimensions"
def unbroadcast(gradient, shape):
    gradient = gradient.sum(list(range(gradient.dim() - len(shape))))
    for d, size in enumerate(shape):
        if size == 1:
            gradient = gradient.sum(d, keepdim=True)
    return gradient

# %% mistake="sums_over_neither" like="sums_over_no_dimensions"
def unbroadcast(gradient, shape):
    gradient = gradient.sum(list(range(gradient.dim() - len(shape))))
    return gradient.sum([d for d, size in enumerate(shape) if size == 1], keepdim=True)

# %% mistake="sums_one_new_dimension" theme="axes"
# At most one of the dimensions that broadcasting put in front is summed. There may be several.
# Из измерений, добавленных спереди, просуммировано не больше одного. Их может быть несколько.
def unbroadcast(gradient, shape):
    if gradient.dim() > len(shape):
        gradient = gradient.sum(0)
    for d, size in enumerate(shape):
        if size == 1:
            gradient = gradient.sum(d, keepdim=True)
    return gradient

# %% mistake="sums_one_stretched_dimension" theme="axes"
# At most one stretched dimension is summed. There may be several.
# Просуммировано не больше одного растянутого измерения. Их может быть несколько.
def unbroadcast(gradient, shape):
    while gradient.dim() > len(shape):
        gradient = gradient.sum(0)
    return gradient.sum(shape.index(1), keepdim=True) if 1 in shape else gradient

# %% mistake="takes_copies_for_blocks" theme="axes"
# The gradient is cut into blocks of the shape, and the blocks are added. Copies along a stretched dimension lie side by
#     side, not in blocks.
# Градиент разрезан на блоки нужной формы, и блоки сложены. Но копии вдоль растянутого измерения лежат рядом, а не
#     блоками.
def unbroadcast(gradient, shape):
    return gradient.reshape(-1, *shape).sum(0)

# %% mistake="drops_the_ones_one_by_one" like="drops_the_ones"
def unbroadcast(gradient, shape):
    while gradient.dim() > len(shape):
        gradient = gradient.sum(0)
    for d, size in enumerate(shape):
        if size == 1:
            gradient = gradient.sum(d)
    return gradient

# %% mistake="compares_from_the_left" theme="axes"
# Shapes are compared from the left. Broadcasting lines them up at the right: the last dimensions belong together.
# Формы сравниваются начиная с первого измерения. А транслирование выравнивает их по последнему: сравнивать нужно с
#     конца.
def unbroadcast(gradient, shape):
    copied = [d for d, (wide, size) in enumerate(zip(gradient.shape, shape)) if wide != size]
    if copied:
        gradient = gradient.sum(copied, keepdim=True)
    while gradient.dim() > len(shape):
        gradient = gradient.sum(-1)
    return gradient

# %% mistake="either_new_or_stretched" theme="axes"
# New dimensions in front are summed, or stretched ones, but never both in one call.
# Суммируются либо новые измерения впереди, либо растянутые, но не те и другие за один вызов.
def unbroadcast(gradient, shape):
    extra = gradient.dim() - len(shape)
    if extra > 0:
        return gradient.sum(tuple(range(extra)))
    stretched = [d for d, size in enumerate(shape) if size == 1]
    return gradient.sum(stretched, keepdim=True) if stretched else gradient
