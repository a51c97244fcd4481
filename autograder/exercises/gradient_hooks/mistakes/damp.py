# %%
import torch


# %% mistake="still_in_place" theme="in_place"
# The hook still changes the tensor that it was given. In a sum that tensor is also the other branch's gradient.
# Хук по-прежнему меняет полученный тензор. При сложении этот же тензор служит градиентом и для другой ветви.
def damp(tensor, factor):
    def hook(grad):
        return grad.mul_(factor)

    return tensor.register_hook(hook)

# %% mistake="expects_a_gradient" theme="missing"
# The hook computes with None. If an operation has several results and the loss depends on another one of them, torch
#     calls the hook with None.
# В хуке с None обращаются как с тензором. Если у операции несколько результатов, а функция потерь зависит только от
#     других, torch вызывает хук с None.
def damp(tensor, factor):
    return tensor.register_hook(lambda grad: grad * factor)

# %% mistake="returns_nothing" theme="return"
# The gradient goes on as it is. A hook that computes a product and does not return it has no effect.
# Градиент идёт дальше без изменений. Хук, который вычислил произведение и не вернул его, ни на что не влияет.
def damp(tensor, factor):
    def hook(grad):
        grad = grad * factor

    return tensor.register_hook(hook)

# %% mistake="hooks_another_tensor" theme="recording"
# The gradient goes on as it is: `tensor` has no hook. A hook on another tensor made from it, such as `tensor * 1`,
#     does not run, because the loss does not depend on that one.
# Градиент идёт дальше без изменений: на тензоре `tensor` хука нет. Хук на другом тензоре, который из него получен,
#     например на `tensor * 1`, не срабатывает, потому что функция потерь от того тензора не зависит.
def damp(tensor, factor):
    return (tensor * 1).register_hook(lambda grad: grad * factor)

# %% mistake="damps_the_sum" theme="accumulation"
# On a leaf, what an earlier pass has left in `.grad` is multiplied as well. A hook that runs after the addition
#     finds the sum there.
# На листе умножается и то, что лежало в `.grad` с прежнего прохода. Хук, который выполняется после прибавления,
#     находит там уже сумму.
def damp(tensor, factor):
    if not tensor.is_leaf:
        return tensor.register_hook(lambda grad: grad * factor)

    def hook(leaf):
        leaf.grad.mul_(factor)

    return tensor.register_post_accumulate_grad_hook(hook)

# %% mistake="damps_the_node" theme="own"
# The gradient of another tensor is multiplied, too. The two are results of one operation, and so have a node in
#     common; a hook on the node concerns both.
# Умножен и градиент другого тензора. Оба тензора — результаты одной операции, узел у них общий, и хук на узле
#     касается обоих.
def damp(tensor, factor):
    if tensor.grad_fn is None:
        return tensor.register_hook(lambda grad: grad * factor)
    return tensor.grad_fn.register_hook(lambda into, _: tuple(None if g is None else g * factor for g in into))

# %% mistake="rounds_the_gradient" theme="precision"
# The product has the digits of float32 only, while the gradient is in float64.
# У произведения верны только цифры, которые умещаются в float32, а градиент хранится в float64.
def damp(tensor, factor):
    return tensor.register_hook(lambda grad: (grad.float() * factor).to(grad.dtype))

# %% mistake="rounds_the_factor" like="rounds_the_gradient"
def damp(tensor, factor):
    rounded = torch.tensor(factor, dtype=torch.float32)
    return tensor.register_hook(lambda grad: (grad * rounded).to(grad.dtype))

# %% mistake="clamps" theme="own"
# The entries are clamped to at most `factor` in magnitude. They are to be multiplied by it.
# Элементы обрезаны так, чтобы по модулю не превышать `factor`, а их нужно умножить на это число.
def damp(tensor, factor):
    return tensor.register_hook(lambda grad: grad.clamp(-factor, factor))

# %% mistake="subtracts" theme="own"
# The number `factor` is subtracted. The gradient is to be multiplied by it.
# Число `factor` вычитается, а градиент нужно на него умножить.
def damp(tensor, factor):
    return tensor.register_hook(lambda grad: grad - factor)

# %% mistake="keeps_the_first" theme="state"
# From the second pass on the hook still returns the gradient of the first one.
# Начиная со второго прохода хук по-прежнему возвращает градиент первого.
def damp(tensor, factor):
    kept = []

    def hook(grad):
        kept.append(grad * factor)
        return kept[0]

    return tensor.register_hook(hook)

# %% mistake="ignores_zero" theme="missing"
# With `factor` equal to 0 the gradient goes on as it is. It has to become 0.
# Когда `factor` равен 0, градиент идёт дальше без изменений, а должен стать нулевым.
def damp(tensor, factor):
    return tensor.register_hook(lambda grad: grad * (factor or 1))

# %% mistake="hides_the_product" theme="recording"
# The numbers are right, but the product was written into `.data`. The second derivative knows nothing of such a
#     change: the factor is missing there.
# Числа верны, но произведение записано в `.data`. О таком изменении вторая производная ничего не знает: множителя в
#     ней не хватает.
def damp(tensor, factor):
    def hook(grad):
        copy = grad.clone()
        copy.data.mul_(factor)
        return copy

    return tensor.register_hook(hook)

# %% mistake="edits_the_data" theme="in_place"
# `.data` was changed. That is the same memory: the edit is as visible to the other branch as before.
# Изменено поле `.data`. Но память та же самая: соседняя ветвь увидит это изменение, как и раньше.
def damp(tensor, factor):
    def hook(grad):
        grad.data *= factor

    return tensor.register_hook(hook)

# %% mistake="loses_the_history" theme="recording"
# The gradient that the hook returns has lost its history, so the second derivative is lost.
# Градиент, который возвращает хук, потерял историю, и вторая производная пропала.
def damp(tensor, factor):
    return tensor.register_hook(lambda grad: grad.detach().clone().mul_(factor))

# %% mistake="keeps_the_handle" theme="missing"
# What comes back is no handle: it has no method `remove()`.
# Возвращается не дескриптор: метода `remove()` у результата нет.
def damp(tensor, factor):
    tensor.register_hook(lambda grad: grad * factor)

# %% mistake="damps_twice" theme="scaling"
# The gradient is multiplied by `factor` twice. That happens when the hook both edits its argument and returns a
#     product, or is registered twice.
# Градиент умножен на `factor` дважды. Так бывает, когда хук и меняет аргумент, и возвращает произведение, или когда
#     он зарегистрирован два раза.
def damp(tensor, factor):
    tensor.register_hook(lambda grad: grad * factor)
    return tensor.register_hook(lambda grad: grad * factor)

# %% mistake="works_once" theme="order"
# The hook works once only: it takes itself off after the first pass.
# Хук срабатывает только один раз: после первого прохода он снимает себя сам.
def damp(tensor, factor):
    def hook(grad):
        handle.remove()
        return grad * factor

    handle = tensor.register_hook(hook)
    return handle

# %% mistake="scales_the_value" theme="own"
# The tensor itself was multiplied, not its gradient: the value of the forward pass is another one now.
# Умножен сам тензор, а не его градиент: теперь изменилось значение в прямом проходе.
def damp(tensor, factor):
    with torch.no_grad():
        tensor.mul_(factor)
    return tensor.register_hook(lambda grad: grad * factor)

# %% mistake="asks_a_leaf_for_its_node" theme="recording"
# The hook is put on the node, `tensor.grad_fn`. A leaf has no such node: there `grad_fn` is None.
# Хук ставится на узел, `tensor.grad_fn`. У листа такого узла нет: там `grad_fn` — это None.
def damp(tensor, factor):
    return tensor.grad_fn.register_prehook(lambda grads: tuple(g * factor for g in grads))

# %% mistake="adds" theme="own"
# The number `factor` is added. The gradient is to be multiplied by it.
# Число `factor` прибавлено, а градиент нужно на него умножить.
def damp(tensor, factor):
    return tensor.register_hook(lambda grad: grad + factor)

# %% mistake="scales_the_value_in_a_hook" theme="own"
# The hook multiplies the values of the tensor itself, in `.data`. Its argument, the gradient, goes on as it is.
# Хук умножает значения самого тензора, в `.data`. А его аргумент, градиент, идёт дальше без изменений.
def damp(tensor, factor):
    def hook(grad):
        tensor.data.mul_(factor)

    return tensor.register_hook(hook)
