"""Explanations about checkpoints."""

from __future__ import annotations

from ..entry import entry
from ..python_texts import in_call_of, in_the_second_run

LESSON, BUDGET = "06_saved_tensors", "16_memory_budget"

ENTRIES = (
    entry(
        "checkpoint_without_use_reentrant",
        LESSON,
        r"the use_reentrant parameter should be passed explicitly",
        """
        checkpoint(torch.exp, torch.rand(2, requires_grad=True))
        """,
        "There are two implementations of `checkpoint`, and you have to say which: write `use_reentrant=False`. The old one, with True, ignores parameters when no input requires grad.",
        "У `checkpoint` две реализации, и нужно выбрать одну: напишите `use_reentrant=False`. Старая, с True, не замечает параметров, если ни один вход не требует градиента.",
        exercise="checkpointed",
    ),
    entry(
        "old_checkpoint_without_inputs",
        LESSON,
        r"None of the inputs have requires_grad=True\. Gradients will be None",
        """
        checkpoint(nn.Linear(2, 2), torch.rand(2), use_reentrant=True)
        """,
        "A checkpoint with `use_reentrant=True` is part of the graph only if one of its inputs requires grad; the parameters inside do not count, and get no gradient. Write `use_reentrant=False`.",
        "Контрольная точка с `use_reentrant=True` попадает в граф, только если градиента требует хотя бы один из её входов; параметры внутри не в счёт, и градиента у них не будет. Напишите `use_reentrant=False`.",
        exercise="checkpointed",
    ),
    entry(
        "old_checkpoint_and_grad",
        LESSON,
        r"When use_reentrant=True, torch\.utils\.checkpoint is incompatible with \.grad\(\)",
        """
        x = torch.rand(2, requires_grad=True)
        torch.autograd.grad(checkpoint(torch.exp, x, use_reentrant=True).sum(), x)
        """,
        "A checkpoint with `use_reentrant=True` knows only `backward()` to all leaves, neither `torch.autograd.grad` nor `inputs=`. Write `use_reentrant=False`.",
        "Контрольная точка с `use_reentrant=True` работает только с `backward()`, который идёт до всех листьев, но не с `torch.autograd.grad` и не с `inputs=`. Напишите `use_reentrant=False`.",
        exercise="checkpointed",
    ),
    entry(
        "options_of_the_new_checkpoint",
        LESSON,
        r"is only supported when use_reentrant=False",
        """
        checkpoint(torch.exp, torch.rand(2, requires_grad=True), use_reentrant=True, debug=True)
        """,
        "A checkpoint with `use_reentrant=True` takes neither `debug` nor `context_fn`. Write `use_reentrant=False`.",
        "Контрольная точка с `use_reentrant=True` не принимает ни `debug`, ни `context_fn`. Напишите `use_reentrant=False`.",
        exercise="checkpointed",
    ),
    entry(
        "keyword_of_the_old_checkpoint",
        LESSON,
        r"^Unexpected keyword arguments: ",
        """
        checkpoint(torch.add, torch.rand(2, requires_grad=True), other=1, use_reentrant=True)
        """,
        "A checkpoint with `use_reentrant=True` hands no keyword arguments on to the function. Write `use_reentrant=False`.",
        "Контрольная точка с `use_reentrant=True` не передаёт функции именованных аргументов. Напишите `use_reentrant=False`.",
        exercise="checkpointed",
        fits=in_call_of("checkpoint"),
    ),
    entry(
        "recomputed_something_else",
        LESSON,
        r"A different number of tensors was saved during the original forward and recomputation|Recomputed values for the following tensors have different metadata|trying to save more tensors during recomputation",
        """
        runs = iter([lambda x: x.exp().sin(), lambda x: x.sin()])
        y = checkpoint(lambda x: next(runs)(x), torch.rand(2, requires_grad=True), use_reentrant=False)
        y.sum().backward()
        """,
        "Under `checkpoint` the function runs a second time, and this time it did something else. It may depend only on its arguments: no counters, no changing globals.",
        "Внутри `checkpoint` функция выполняется второй раз, и во второй раз она сделала не то же самое. Она может зависеть только от аргументов: никаких счётчиков и изменяемых глобальных переменных.",
        exercise="checkpointed",
    ),
    entry(
        "unpacked_twice_under_a_checkpoint",
        LESSON,
        r"Unpack is being triggered for a tensor that was already unpacked once",
        """
        class Exp(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x.exp())
                return x.exp()

            @staticmethod
            def backward(ctx, grad):
                return grad * ctx.saved_tensors[0] * ctx.saved_tensors[0]

        checkpoint(Exp.apply, torch.rand(2, requires_grad=True), use_reentrant=False).sum().backward()
        """,
        "Under a checkpoint a saved tensor can be read once. In `backward` take `ctx.saved_tensors` once, into names of your own.",
        "Внутри контрольной точки сохранённый тензор можно прочитать один раз. В `backward` обратитесь к `ctx.saved_tensors` один раз и присвойте результат своим переменным.",
        exercise="checkpointed",
    ),
    entry(
        "selective_checkpoint_twice",
        LESSON,
        r"only allowed to backward once on any region computed under selective activation checkpoint",
        """
        from functools import partial
        from torch.utils.checkpoint import CheckpointPolicy, create_selective_checkpoint_contexts
        save_all = partial(create_selective_checkpoint_contexts, lambda *a, **k: CheckpointPolicy.MUST_SAVE)
        x = torch.rand(2, requires_grad=True)
        y = checkpoint(lambda x: x.exp().sin(), x, use_reentrant=False, context_fn=save_all).sum()
        y.backward(retain_graph=True)
        y.backward()
        """,
        "A selective checkpoint allows one backward pass, also with `retain_graph=True`. Run the forward pass again.",
        "Выборочная контрольная точка допускает один обратный проход, даже с `retain_graph=True`. Повторите прямой проход.",
        exercise="checkpointed",
    ),
    entry(
        "checkpoint_of_a_frozen_block",
        "17_capstones",
        r"none of output has requires_grad=True, this checkpoint\(\) is not necessary",
        """
        block = nn.Linear(2, 2).requires_grad_(False)
        x = torch.rand(2, requires_grad=True)
        checkpoint(lambda x, _: block(x), torch.rand(2), x, use_reentrant=True).sum().backward()
        """,
        "Nothing inside this checkpoint requires grad: the block is frozen. Write `use_reentrant=False`, or run a frozen block without a checkpoint.",
        "Внутри этой контрольной точки ничто не требует градиента: блок заморожен. Напишите `use_reentrant=False` или выполняйте замороженный блок без контрольной точки.",
        exercise="fix_checkpoint",
    ),
    entry(
        "only_the_second_run_fails",
        BUDGET,
        r"pop from (an )?empty (list|deque|set)|'pop\w*\(\): \w+ is empty'|^list index out of range|^'\w+'$",
        """
        x = torch.rand(2, 3, requires_grad=True)
        checkpoint(lambda xs: xs.pop(0).exp(), [x], use_reentrant=False).sum().backward()
        """,
        "A checkpoint runs its function again in the backward pass, with the same arguments. The first run has used them up, as `pop` empties a list. Leave the arguments as they are: `xs[0]` in place of `xs.pop(0)`.",
        "В обратном проходе контрольная точка выполняет функцию ещё раз, с теми же аргументами. Первое выполнение их израсходовало: так `pop` опустошает список. Не изменяйте аргументы: `xs[0]` вместо `xs.pop(0)`.",
        exercise="predict_repeats",
        fits=in_the_second_run,
    ),
    entry(
        "selective_checkpoint_changed_in_place",
        BUDGET,
        r"Tensor cached during selective activation checkpoint has been mutated",
        """
        from functools import partial
        from torch.utils.checkpoint import create_selective_checkpoint_contexts

        def block(x, w):
            h = x @ w
            h.relu_()
            return h.sin()

        x, w = torch.rand(2, 3, 3, requires_grad=True)
        keep = partial(create_selective_checkpoint_contexts, [torch.ops.aten.mm.default])
        checkpoint(block, x, w, use_reentrant=False, context_fn=keep).sum().backward()
        """,
        "The policy of this checkpoint saves a result, here that of `x @ w`, and an in-place operation overwrites it afterwards. Work out of place: `h = h.relu()`. `allow_cache_entry_mutation=True` gives right gradients only where the change has no effect when repeated, as with `relu_()`; `mul_(2)` would be done twice.",
        "Политика этой контрольной точки сохраняет результат (здесь `x @ w`), а операция с изменением на месте его потом перезаписывает. Обойдитесь без изменения на месте: `h = h.relu()`. С `allow_cache_entry_mutation=True` градиенты верны, только если повторное изменение ничего не меняет, как у `relu_()`, а `mul_(2)` выполнилось бы дважды.",
        exercise="keep_products",
    ),
)
