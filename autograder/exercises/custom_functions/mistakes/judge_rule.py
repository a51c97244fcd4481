# %%
import torch

STEP = 1e-6


def shifted(forward, inputs, number, step):
    """Return the result with one input moved by `step`."""
    return forward(*inputs[:number], inputs[number] + step, *inputs[number + 1 :])


def slope(forward, inputs, number, step, g, h):
    """Return the central difference of `(g * result).sum()` along `step`."""
    there, back = (shifted(forward, inputs, number, sign * h * step) for sign in (1, -1))
    return (g * (there - back)).sum() / (2 * h)


def units(x):
    """Yield a tensor for each entry of `x`: 1 at the entry, else 0."""
    for k in range(x.numel()):
        unit = torch.zeros_like(x)
        unit.view(-1)[k] = 1
        yield unit


def differences(forward, inputs, number, g, h=STEP):
    found = [slope(forward, inputs, number, unit, g, h) for unit in units(inputs[number])]
    return torch.stack(found).view(inputs[number].shape)


def near(part, found):
    return torch.allclose(part, found, rtol=1e-4, atol=1e-6)


def draw(out):
    return torch.rand(out.shape, dtype=torch.float64) + 0.5


def test(forward, rule, inputs, draw=draw, differences=differences, near=near, shapes=True, which=None, count=True):
    """Run a right test; the arguments put a fault into it."""
    out = forward(*inputs)
    g = draw(out)
    parts = rule(g, out, *inputs)
    if count and len(parts) != len(inputs):
        return False
    for number, (x, part) in list(enumerate(zip(inputs, parts)))[:which]:
        if shapes and part.shape != x.shape:
            return False
        if not near(part, differences(forward, inputs, number, g)):
            return False
    return True

# %% mistake="accepts_everything" theme="test"
# Every rule is accepted, and no operation is called: there is nothing to compare a rule with.
# Принимается любое правило, и ни одна операция не вызывается: сравнивать правило не с чем.
def judge_rule(forward, rule, *inputs):
    return True

# %% mistake="compares_and_forgets" theme="test"
# Every rule is accepted although the operations are called. Is the comparison returned, and does it give a True or False?
# Принимается любое правило, хотя операции вызываются. Возвращается ли результат сравнения и равен ли он True или False?
def judge_rule(forward, rule, *inputs):
    test(forward, rule, inputs)
    return True

# %% mistake="refuses_everything" theme="test"
# Every rule is refused, and no operation is called.
# Отвергается любое правило, и ни одна операция не вызывается.
def judge_rule(forward, rule, *inputs):
    return False

# %% mistake="too_strict" theme="test"
# Every right rule is refused. Is the change divided by the whole way, from $x - h$ to $x + h$, and is there a tolerance?
#     A difference is never exact, and for a tiny `h` rounding takes over.
# Отвергаются все правильные правила. Делится ли изменение на весь путь, от $x - h$ до $x + h$, и есть ли допуск? Разность
#     никогда не бывает точной, а при крошечном `h` всё решает округление.
def judge_rule(forward, rule, *inputs):
    return test(forward, rule, inputs, differences=lambda *given: 2 * differences(*given))

# %% mistake="compares_exactly" like="too_strict"
def judge_rule(forward, rule, *inputs):
    return test(forward, rule, inputs, near=torch.equal)

# %% mistake="refuses_some" theme="test"
# Some right rules are refused, others accepted. Does the test stand every shape of inputs and results, entries of 0, and the
#     rounding of a difference?
# Одни правильные правила отвергаются, другие принимаются. Рассчитан ли тест на любые формы входов и результата, на нулевые
#     элементы и на погрешность разностей?
def judge_rule(forward, rule, *inputs):
    return forward(*inputs).shape == inputs[0].shape and test(forward, rule, inputs)

# %% mistake="steps_too_far" theme="precision"
# Rules of curved functions are refused. The step is so large that the difference is no slope any more.
# Правила для криволинейных функций отвергаются. Шаг так велик, что разность уже не равна наклону.
def judge_rule(forward, rule, *inputs):
    return test(forward, rule, inputs, differences=lambda *given: differences(*given, h=0.3))

# %% mistake="one_sided" theme="precision"
# A right rule is refused where the derivative is 0. A difference to one side, $(s(x + h) - s(x)) / h$, is not 0 there;
#     a central one is.
# Правильное правило отвергается там, где производная равна 0. Односторонняя разность, $(s(x + h) - s(x)) / h$, там не
#     равна 0, а центральная равна.
def judge_rule(forward, rule, *inputs):
    def one_sided(forward, inputs, number, g):
        out = forward(*inputs)
        found = [(g * (shifted(forward, inputs, number, STEP * unit) - out)).sum() for unit in units(inputs[number])]
        return torch.stack(found).view(inputs[number].shape) / STEP

    return test(forward, rule, inputs, differences=one_sided, near=lambda a, b: torch.allclose(a, b, atol=1e-8))

# %% mistake="returns_nothing" theme="return"
# For a right rule the test returns None: a `return True` is missing at the end.
# Для правильного правила тест возвращает None: в конце нет `return True`.
def judge_rule(forward, rule, *inputs):
    assert test(forward, rule, inputs)

# %% mistake="asks_autograd" theme="test"
# The truth is asked of autograd. It sees nothing of an operation that computes outside of torch: only the operation's
#     numbers can be trusted.
# Эталон взят у autograd. Но операцию, которая вычисляет вне torch, он не видит: доверять можно только числам самой
#     операции.
def judge_rule(forward, rule, *inputs):
    def by_autograd(forward, inputs, number, g):
        leaves = [x.clone().requires_grad_() for x in inputs]
        return torch.autograd.grad(forward(*leaves), leaves, g, materialize_grads=True)[number]

    return test(forward, rule, inputs, differences=by_autograd)

# %% mistake="refuses_what_autograd_misses" like="asks_autograd"
def judge_rule(forward, rule, *inputs):
    def by_autograd(forward, inputs, number, g):
        leaves = [x.clone().requires_grad_() for x in inputs]
        return torch.autograd.grad(forward(*leaves), leaves, g, materialize_grads=True)[number]

    try:
        return test(forward, rule, inputs, differences=by_autograd)
    except RuntimeError:
        return False

# %% mistake="g_of_ones" theme="test"
# In the test all that arrives is ones. A rule that leaves `g` out then gives the same numbers as a right one.
# Тест всегда передаёт правилу одни единицы. Правило, в котором `g` не учтён, даёт тогда те же числа, что и правильное.
def judge_rule(forward, rule, *inputs):
    return test(forward, rule, inputs, draw=torch.ones_like)

# %% mistake="one_number_for_g" theme="test"
# All entries of `g` in the test are one number. A rule that mixes them up, by a mean for instance, goes unseen.
# Все элементы `g` в тесте — одно и то же число. Правило, которое их смешивает, например усредняет, остаётся незамеченным.
def judge_rule(forward, rule, *inputs):
    return test(forward, rule, inputs, draw=lambda out: torch.full_like(out, 0.7))

# %% mistake="only_the_first_input" theme="test"
# Only the first gradient is compared. The others may be wrong, or missing.
# Сравнивается только первый градиент. Остальные могут быть неверны или вовсе отсутствовать.
def judge_rule(forward, rule, *inputs):
    return test(forward, rule, inputs, which=1, count=False)

# %% mistake="only_the_first_of_all" like="only_the_first_input"
def judge_rule(forward, rule, *inputs):
    return test(forward, rule, inputs, which=1)

# %% mistake="stops_with_the_shorter" theme="test"
# A rule with one gradient too few is accepted: `zip` stops with the shorter of the two. Compare the numbers first.
# Правило, которое вернуло на один градиент меньше, принимается: `zip` останавливается на более короткой
#     последовательности. Сначала сравните количества.
def judge_rule(forward, rule, *inputs):
    return test(forward, rule, inputs, count=False)

# %% mistake="broadcasts_the_comparison" theme="axes"
# One number in place of a whole gradient is accepted: a comparison such as `torch.allclose` broadcasts. Compare the shapes
#     first.
# Принимается одно число вместо целого градиента: сравнение, например `torch.allclose`, транслирует формы. Сначала сравните
#     сами формы.
def judge_rule(forward, rule, *inputs):
    return test(forward, rule, inputs, shapes=False)

# %% mistake="compares_sums" theme="test"
# Only the sum of a gradient is compared, or all entries are moved at once. Entries can be wrong although their sum is right.
# Сравнивается только сумма градиента, или все элементы сдвигаются сразу. Элементы бывают неверны и тогда, когда их сумма
#     верна.
def judge_rule(forward, rule, *inputs):
    def at_once(forward, inputs, number, g):
        return slope(forward, inputs, number, torch.ones_like(inputs[number]), g, STEP)

    return test(forward, rule, inputs, differences=at_once, near=lambda part, found: near(part.sum(), found))

# %% mistake="compares_sums_of_any_shape" like="compares_sums"
def judge_rule(forward, rule, *inputs):
    def at_once(forward, inputs, number, g):
        return slope(forward, inputs, number, torch.ones_like(inputs[number]), g, STEP)

    return test(forward, rule, inputs, differences=at_once, near=lambda a, b: near(a.sum(), b), shapes=False)

# %% mistake="moves_whole_rows" theme="test"
# Whole rows are moved, or the sums of rows compared. Inside a row entries can be wrong although their sum is right.
# Сдвигаются целые строки, или сравниваются суммы по строкам. Внутри строки элементы бывают неверны и тогда, когда их сумма
#     верна.
def judge_rule(forward, rule, *inputs):
    def sums(entries):
        return entries.sum(-1) if entries.dim() > 1 else entries

    return test(forward, rule, inputs, near=lambda part, found: near(sums(part), sums(found)))

# %% mistake="asks_for_a_length" theme="axes"
# An input of shape `()` has no length. Walk over its `numel()` entries, for instance through `view(-1)`.
# У входа формы `()` нет длины. Пройдите по всем его `numel()` элементам, например через `view(-1)`.
def judge_rule(forward, rule, *inputs):
    def in_rows(forward, inputs, number, g):
        found = differences(forward, inputs, number, g)
        return torch.stack([found[row] for row in range(len(inputs[number]))])

    return test(forward, rule, inputs, differences=in_rows)

# %% mistake="moves_the_inputs" theme="in_place"
# An input is changed in place, and after the test it is not what it was: rounding stays even if the step is taken back.
# Вход изменён на месте и после теста уже не тот: даже если шаг отменить, остаётся погрешность округления.
def judge_rule(forward, rule, *inputs):
    def in_place(forward, inputs, number, g):
        entries, found = inputs[number].view(-1), []
        for k in range(len(entries)):
            entries[k] += STEP
            there = forward(*inputs)
            entries[k] -= 2 * STEP
            back = forward(*inputs)
            entries[k] += STEP
            found.append((g * (there - back)).sum() / (2 * STEP))
        return torch.stack(found).view(inputs[number].shape)

    return test(forward, rule, inputs, differences=in_place)

# %% mistake="sets_a_flag" theme="recording"
# After the test an input requires grad. `requires_grad_()` changes the tensor itself: take a copy.
# После теста вход требует градиента. Метод `requires_grad_()` меняет сам тензор: возьмите копию.
def judge_rule(forward, rule, *inputs):
    for x in inputs:
        x.requires_grad_()
    with torch.no_grad():
        return test(lambda *xs: forward(*[x.detach() for x in xs]), rule, inputs)

# %% mistake="too_tolerant" theme="test"
# The tolerance is so wide that a rule off by 1 % is accepted.
# Допуск так велик, что принимается правило с ошибкой в 1 %.
def judge_rule(forward, rule, *inputs):
    return test(forward, rule, inputs, near=lambda part, found: torch.allclose(part, found, rtol=0.05, atol=0.05))

# %% mistake="lets_nan_through" theme="precision"
# NaN is accepted. Every comparison with NaN is False, and so is `error > tolerance`: ask whether the error is small.
# Принимается NaN. Любое сравнение с NaN даёт False, в том числе `error > tolerance`: спрашивайте, мала ли ошибка.
def judge_rule(forward, rule, *inputs):
    return test(forward, rule, inputs, near=lambda part, found: not ((part - found).abs() > 1e-4).any())

# %% mistake="draws_its_own_inputs" theme="test"
# The test is made at inputs of its own, all positive. What a rule does at the given ones, with negative entries and a 0,
#     goes unseen.
# Проверка сделана на собственных входах, и все они положительны. Что правило делает на данных входах, среди которых есть
#     отрицательные числа и 0, остаётся незамеченным.
def judge_rule(forward, rule, *inputs):
    return test(forward, rule, [torch.rand_like(x) + 0.5 for x in inputs])

# %% mistake="only_one_entry" theme="test"
# In each input only one entry is moved. A rule that is wrong at the others is accepted.
# У каждого входа сдвигается только один элемент. Правило, неверное для остальных, принимается.
def judge_rule(forward, rule, *inputs):
    return test(forward, rule, inputs, near=lambda part, found: near(part.reshape(-1)[0], found.view(-1)[0]))

# %% mistake="compares_magnitudes" theme="test"
# Only magnitudes are compared. A gradient with the wrong sign is accepted.
# Сравниваются только модули. Градиент с неверным знаком принимается.
def judge_rule(forward, rule, *inputs):
    return test(forward, rule, inputs, near=lambda part, found: near(part.abs(), found.abs()))

# %% mistake="g_like_the_input" theme="axes"
# `g` was drawn in the shape of an input. It is the gradient of the result, and has the result's shape.
# У `g` форма входа. Но это градиент результата, и форма у него та же, что у результата.
def judge_rule(forward, rule, *inputs):
    return test(forward, rule, inputs, draw=lambda out: draw(inputs[0]))

# %% mistake="thinks_entry_by_entry" theme="axes"
# The change of the result is compared with the gradient as if each entry of an input changed one entry of the result alone.
#     An entry may change many of them: sum `g` times the change.
# Изменение результата сравнивается с градиентом так, будто каждый элемент входа меняет только один элемент результата. Но
#     меняться могут многие: нужна сумма произведений `g` на изменение.
def judge_rule(forward, rule, *inputs):
    def entrywise(forward, inputs, number, g):
        there, back = (shifted(forward, inputs, number, h) for h in (STEP, -STEP))
        return g * (there - back) / (2 * STEP)

    return test(forward, rule, inputs, differences=entrywise)

# %% mistake="g_in_float32" theme="precision"
# `g` is in float32, and its numbers meet those of float64. It needs the dtype of the result: `torch.rand(shape)` alone
#     makes float32.
# У `g` тип float32, а остальные числа — float64. Тип должен быть как у результата: `torch.rand(shape)` создаёт float32.
def judge_rule(forward, rule, *inputs):
    return test(forward, rule, inputs, draw=lambda out: torch.rand(out.shape))

# %% mistake="leaves_shapes_to_autograd" theme="axes"
# A gradient that was not summed to the shape of its input is accepted. Is the shape compared before anything sums the
#     gradient, as autograd does for a custom Function?
# Принимается градиент, который не просуммирован до формы входа. Сравнивается ли форма раньше, чем градиент кто-то
#     просуммирует, как это делает autograd для своей функции?
def judge_rule(forward, rule, *inputs):
    class Operation(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *xs):
            ctx.save_for_backward(out := forward(*[x.detach() for x in xs]), *xs)
            return out

        @staticmethod
        def backward(ctx, g):
            return rule(g, *ctx.saved_tensors)

    leaves = [x.clone().requires_grad_() for x in inputs]
    return torch.autograd.gradcheck(Operation.apply, leaves, raise_exception=False)
