# %%
import torch
from torch.nn.functional import cross_entropy

from ..token_mean import IGNORED


def _token_loss(model, x, y):
    """Return the mean cross-entropy over the tokens of a micro-batch.

    Padding tokens are left out of the mean. `x` has the shape (sequences, tokens, 3), `y` the shape (sequences,
    tokens).
    """
    return cross_entropy(model(x).flatten(0, 1), y.flatten(), ignore_index=IGNORED)


def _accumulate_weighted(model, batches, weight):
    """Accumulate the gradient of the micro-batches' token means.

    A mean is weighted by `weight(y)` divided by the sum of these weights.
    """
    model.zero_grad()
    total = sum(weight(y) for _, y in batches)
    for x, y in batches:
        (_token_loss(model, x, y) * weight(y) / total).backward()

# %% mistake="weighs_alike" theme="scaling"
# Every micro-batch got the weight 1/K, whether it holds many tokens or few.
# Каждый микробатч получил вес 1/K, сколько бы токенов в нём ни было.
def token_mean(model, batches):
    _accumulate_weighted(model, batches, lambda y: 1.0)

# %% mistake="weighs_by_sequences" theme="scaling"
# Micro-batches are weighted by their sequences, or by all positions, padding included.
# Вес микробатча — число последовательностей или всех позиций вместе с паддингом.
def token_mean(model, batches):
    _accumulate_weighted(model, batches, len)

# %% mistake="divides_a_mean" theme="scaling"
# The mean of each micro-batch was divided by a count that it was never multiplied with.
# Среднее по микробатчу делится на число токенов, на которое не было умножено.
def token_mean(model, batches):
    model.zero_grad()
    total = sum(int((y != IGNORED).sum()) for _, y in batches)
    for x, y in batches:
        (_token_loss(model, x, y) / total).backward()

# %% mistake="keeps_what_was_there" theme="accumulation"
# The gradient that was there before stayed in the sum. It has to be cleared before the loop.
# В сумме остался прежний градиент. Его нужно обнулить до цикла.
def token_mean(model, batches):
    total = sum(int((y != IGNORED).sum()) for _, y in batches)
    for x, y in batches:
        (_token_loss(model, x, y) * (y != IGNORED).sum() / total).backward()

# %% mistake="keeps_the_last_tokens" theme="accumulation"
# The gradients are zeroed inside the loop, so only the last micro-batch is left.
# Градиенты обнуляются внутри цикла, поэтому остаётся только последний микробатч.
def token_mean(model, batches):
    total = sum(int((y != IGNORED).sum()) for _, y in batches)
    for x, y in batches:
        model.zero_grad()
        (_token_loss(model, x, y) * (y != IGNORED).sum() / total).backward()

# %% mistake="sums_token_means" theme="scaling"
# The token means are added up without any weight.
# Средние по токенам складываются без весов.
def token_mean(model, batches):
    model.zero_grad()
    for x, y in batches:
        _token_loss(model, x, y).backward()

# %% mistake="takes_class_0_for_padding" theme="own"
# Tokens of class 0 were taken for padding: only `-100` is padding.
# Токены класса 0 приняты за паддинг, а паддинг — только `-100`.
def token_mean(model, batches):
    _accumulate_weighted(model, batches, lambda y: float((y > 0).sum()))

# %% mistake="multiplies_by_tokens" theme="scaling"
# Each mean was multiplied by its number of tokens, but the sum was not divided by the number of all tokens.
# Каждое среднее умножено на число своих токенов, но сумма не разделена на общее число токенов.
def token_mean(model, batches):
    model.zero_grad()
    for x, y in batches:
        (_token_loss(model, x, y) * (y != IGNORED).sum()).backward()

# %% mistake="counts_padding" theme="scaling"
# The sum over valid tokens was divided by the number of all positions, padding included.
# Сумма по настоящим токенам разделена на число всех позиций вместе с паддингом.
def token_mean(model, batches):
    model.zero_grad()
    positions = sum(y.numel() for _, y in batches)
    for x, y in batches:
        (_token_loss(model, x, y) * (y != IGNORED).sum() / positions).backward()

# %% mistake="learns_from_padding" theme="own"
# Padding was turned into class 0 and so counted as tokens of that class.
# Паддинг заменён классом 0 и поэтому учтён как токены этого класса.
def token_mean(model, batches):
    model.zero_grad()
    positions = sum(y.numel() for _, y in batches)
    for x, y in batches:
        logits, targets = model(x).flatten(0, 1), y.clamp(min=0).flatten()
        (cross_entropy(logits, targets, reduction="sum") / positions).backward()

# %% mistake="averages_each_sequence" theme="scaling"
# A mean was taken over each sequence first. Tokens of short sequences then weigh more than those of long ones.
# Сначала взято среднее по каждой последовательности. Поэтому токены коротких последовательностей весят больше, чем
#     токены длинных.
def token_mean(model, batches):
    model.zero_grad()
    total = sum(int((y != IGNORED).sum()) for _, y in batches)
    for x, y in batches:
        rows = torch.stack([_token_loss(model, a[None], b[None]) for a, b in zip(x, y)])
        (rows.mean() * (y != IGNORED).sum() / total).backward()
