# %%
import torch
from torch.nn.functional import one_hot

_KEPT = {}


def _noisy(logits, noise):
    found = logits - torch.log(-torch.log(noise))
    return found


def _hard(scores):
    found = one_hot(scores.argmax(-1), scores.shape[-1]).to(scores.dtype)
    return found

# %% mistake="hard_alone" theme="recording"
# The result has no graph: the one-hot vector was returned by itself, or all of the sum is detached. `argmax` ends the
#     graph.
# У результата нет графа: возвращён сам one-hot вектор, или отсоединена вся сумма. На `argmax` граф кончается.
def fix_gumbel(logits, temperature, noise):
    return _hard(_noisy(logits, noise))

# %% mistake="soft_alone" theme="own"
# The soft vector was returned. Its gradient is right, but its values are not 0 and 1.
# Возвращён мягкий вектор. Градиент у него верный, но его значения — не 0 и 1.
def fix_gumbel(logits, temperature, noise):
    return (_noisy(logits, noise) / temperature).softmax(-1)

# %% mistake="logits_pass_through" theme="derivative"
# The gradient goes to the logits as it is. It should go through the softmax, in which an entry rises at the cost of the
#     others.
# Градиент доходит до логитов без изменений. А он должен пройти через softmax, где одно значение растёт за счёт остальных.
def fix_gumbel(logits, temperature, noise):
    scores = _noisy(logits, noise)
    return _hard(scores) + scores - scores.detach()

# %% mistake="without_temperature" theme="scaling"
# The gradient is that of temperature 1. The noisy logits are divided by `temperature` before the softmax.
# Градиент такой, как при температуре 1. Перед softmax логиты с шумом делят на `temperature`.
def fix_gumbel(logits, temperature, noise):
    soft = _noisy(logits, noise).softmax(-1)
    return _hard(soft) + soft - soft.detach()

# %% mistake="without_noise" theme="own"
# The gradient is that of the softmax without noise. Value and gradient belong to the same noisy logits.
# Градиент взят у softmax без шума. Но значение и градиент относятся к одним и тем же логитам с шумом.
def fix_gumbel(logits, temperature, noise):
    soft = (logits / temperature).softmax(-1)
    return _hard(_noisy(logits, noise)) + soft - soft.detach()

# %% mistake="noise_is_forgotten" theme="own"
# The 1 is at the largest logit, whatever the noise is. Then nothing is drawn: it is always the same choice.
# Единица стоит у наибольшего логита, каким бы ни был шум. Тогда это не случайный выбор: он всегда один и тот же.
def fix_gumbel(logits, temperature, noise):
    soft = (logits / temperature).softmax(-1)
    return _hard(soft) + soft - soft.detach()

# %% mistake="along_the_first_dimension" theme="axes"
# The softmax was taken along the first dimension. The choices lie along the last one.
# Функция softmax взята по измерению 0. А варианты выбора лежат вдоль последнего измерения.
def fix_gumbel(logits, temperature, noise):
    scores = _noisy(logits, noise)
    soft = (scores / temperature).softmax(0 if logits.dim() > 1 else -1)
    return _hard(scores) + soft - soft.detach()

# %% mistake="passes_twice" theme="scaling"
# The gradient is twice as large as that of the softmax: `soft` is in the sum twice with its graph.
# Градиент вдвое больше, чем у softmax: `soft` входит в сумму дважды вместе с графом.
def fix_gumbel(logits, temperature, noise):
    scores = _noisy(logits, noise)
    soft = (scores / temperature).softmax(-1)
    return _hard(scores) + 2 * (soft - soft.detach())

# %% mistake="multiplied_by_temperature" theme="scaling"
# The noisy logits were multiplied by `temperature`. They are divided by it: the colder, the nearer to a hard choice.
# Логиты с шумом умножены на `temperature`. На неё делят: чем температура ниже, тем ближе выбор к жёсткому.
def fix_gumbel(logits, temperature, noise):
    scores = _noisy(logits, noise)
    soft = (scores * temperature).softmax(-1)
    return _hard(scores) + soft - soft.detach()

# %% mistake="product_with_soft" theme="own"
# The chosen entry is not 1 but a probability: the one-hot vector was multiplied by the soft one.
# Выбранное значение — не 1, а вероятность: one-hot вектор умножен на мягкий.
def fix_gumbel(logits, temperature, noise):
    soft = (_noisy(logits, noise) / temperature).softmax(-1)
    return _hard(soft) * soft

# %% mistake="noise_with_a_minus" theme="own"
# The noise was subtracted: $\log(-\log u)$ was added in place of $-\log(-\log u)$. Then the draws have other
#     probabilities.
# Шум вычтен: прибавлено $\log(-\log u)$ вместо $-\log(-\log u)$. Тогда вероятности выбора другие.
def fix_gumbel(logits, temperature, noise):
    scores = logits + torch.log(-torch.log(noise))
    soft = (scores / temperature).softmax(-1)
    return _hard(scores) + soft - soft.detach()

# %% mistake="still_with_a_minus" theme="derivative"
# The gradient still has the wrong sign. The order of the terms does not matter: the one with a graph is still subtracted.
# У градиента по-прежнему неверный знак. Порядок слагаемых ничего не меняет: вычитается всё то же слагаемое, у которого
#     есть граф.
def fix_gumbel(logits, temperature, noise):
    soft = (_noisy(logits, noise) / temperature).softmax(-1)
    return _hard(soft) + soft.detach() - soft

# %% mistake="adds_the_soft_vector" theme="own"
# The values are the sum of the one-hot and the soft vector. The soft one must cancel in the value: subtract it, detached.
# Значения — сумма one-hot вектора и мягкого. В значении мягкий вектор должен сократиться: вычтите его, отсоединив от
#     графа.
def fix_gumbel(logits, temperature, noise):
    soft = (_noisy(logits, noise) / temperature).softmax(-1)
    return _hard(soft) + soft

# %% mistake="through_the_chosen_entry" theme="derivative"
# Only the chosen entry has a gradient, because the others are multiplied by 0. Each entry needs that of the softmax.
# Градиент есть только у выбранного элемента: остальные умножены на 0. А нужен градиент softmax для каждого элемента.
def fix_gumbel(logits, temperature, noise):
    soft = (_noisy(logits, noise) / temperature).softmax(-1)
    return _hard(soft) * soft / soft.detach()

# %% mistake="asks_for_a_gradient" theme="recording"
# The one-hot vector only has the flag `requires_grad`. It is a new leaf, and no path leads from it to the logits.
# У one-hot вектора лишь выставлен флаг `requires_grad`. Это новый лист, и пути от него к логитам нет.
def fix_gumbel(logits, temperature, noise):
    return _hard(_noisy(logits, noise)).requires_grad_()

# %% mistake="scaled_by_the_chosen_entry" like="through_the_chosen_entry"
def fix_gumbel(logits, temperature, noise):
    soft = (_noisy(logits, noise) / temperature).softmax(-1)
    return _hard(soft) * (1 + soft - soft.detach())

# %% mistake="noise_as_it_is" theme="own"
# The numbers $u$ themselves were added. The noise is $-\log(-\log u)$, which makes the draws as probable as `softmax` says.
# Прибавлены сами числа $u$. А шум — это $-\log(-\log u)$: с ним вероятности выбора такие, какие даёт `softmax`.
def fix_gumbel(logits, temperature, noise):
    soft = ((logits + noise) / temperature).softmax(-1)
    return _hard(soft) + soft - soft.detach()

# %% mistake="chosen_along_the_first_dimension" like="along_the_first_dimension"
def fix_gumbel(logits, temperature, noise):
    soft = (_noisy(logits, noise) / temperature).softmax(0)
    return _hard(soft) + soft - soft.detach()

# %% mistake="everything_along_the_first_dimension" like="along_the_first_dimension"
def fix_gumbel(logits, temperature, noise):
    soft = (_noisy(logits, noise) / temperature).softmax(0)
    return torch.zeros_like(soft).scatter(0, soft.argmax(0, keepdim=True), 1.0) + soft - soft.detach()

# %% mistake="subtracts_the_graph_as_well" theme="recording"
# The soft vector is added and subtracted, both times with its graph: the gradients cancel. What is subtracted has to be
#     detached.
# Мягкий вектор и прибавлен, и вычтен вместе с графом, поэтому градиенты взаимно уничтожаются. Вычитаемое нужно
#     отсоединить.
def fix_gumbel(logits, temperature, noise):
    scores = _noisy(logits, noise)
    soft = (scores / temperature).softmax(-1)
    return _hard(scores) + soft - soft

# %% mistake="rounds_the_soft_vector" theme="own"
# The soft vector was rounded. Where no entry is above one half, no 1 is left.
# Мягкий вектор округлён. Если ни одно значение не больше половины, единицы в нём не остаётся.
def fix_gumbel(logits, temperature, noise):
    soft = (_noisy(logits, noise) / temperature).softmax(-1)
    return soft.round() + soft - soft.detach()

# %% mistake="draws_its_own_noise" theme="own"
# The 1 is not at the largest noisy logit, because torch drew noise of its own. The choice belongs to the `noise` that is
#     given.
# Единица стоит не у наибольшего логита с шумом: torch взял собственный шум. А выбор должен следовать переданному `noise`.
def fix_gumbel(logits, temperature, noise):
    return torch.nn.functional.gumbel_softmax(logits, tau=temperature, hard=True)

# %% mistake="kept_on_the_class" theme="state"
# What `backward` needs is kept on the class or in a global variable. All calls share those, so another call overwrites
#     what this one needs; each call has its own `ctx`.
# Нужное для `backward` хранится в самом классе или в глобальной переменной. Такое место у всех вызовов общее, и следующий
#     вызов затирает то, что нужно этому; объект `ctx` у каждого вызова свой.
def fix_gumbel(logits, temperature, noise):
    kept = _KEPT

    class Choose(torch.autograd.Function):
        @staticmethod
        def forward(ctx, logits):
            scores = _noisy(logits, noise)
            kept["soft"], kept["temperature"] = (scores / temperature).softmax(-1), temperature
            return _hard(scores)

        @staticmethod
        def backward(ctx, grad):
            soft = kept["soft"]
            return soft * (grad - (grad * soft).sum(-1, keepdim=True)) / kept["temperature"]

    return Choose.apply(logits)
