"""Explanations about saved tensors, their hooks, and checkpoints."""

from __future__ import annotations

from ..entry import entry

LESSON = "06_saved_tensors"

ENTRIES = (
    entry(
        "pack_hook_in_place",
        LESSON,
        r"A saved tensor pack hook is modifying its input in place",
        """
        with graph.saved_tensors_hooks(lambda t: t.mul_(2), lambda t: t):
            (torch.rand(2, requires_grad=True) * 1).exp()
        """,
        "The pack hook is given the very tensor that the computation goes on with. Return something new, and leave the argument as it is.",
        "Хук упаковки получает тот самый тензор, с которым идут вычисления. Верните новый объект, а аргумент не изменяйте.",
        exercise="save_in_half",
    ),
    entry(
        "unpacked_no_tensor",
        LESSON,
        r"Output of saved tensor unpack_hook expected to be a Tensor",
        """
        with graph.saved_tensors_hooks(lambda t: t, lambda t: 1):
            y = torch.rand(2, requires_grad=True).exp()
        y.sum().backward()
        """,
        "The unpack hook must give back a tensor, and not what `pack` made of it.",
        "Хук распаковки должен вернуть тензор, а не то, что вернула функция `pack`.",
        exercise="save_on_disk",
    ),
    entry(
        "hooks_of_nothing_saved",
        LESSON,
        r"Calling register_hooks on a saved tensor with value None",
        """
        y = torch.rand(2, requires_grad=True) * torch.rand(2)
        y.grad_fn._raw_saved_self.register_hooks(lambda t: t, lambda t: t)
        """,
        "Backward does not need this value, so nothing is saved under this name: it is None. Look first, `node._saved_self`, and set hooks on what is there.",
        "Обратному проходу эта величина не нужна, и под этим именем ничего не сохранено: там None. Сначала проверьте `node._saved_self` и ставьте хуки на то, что есть.",
        exercise="count_saved",
    ),
    entry(
        "saved_hooks_twice",
        LESSON,
        r"Calling register_hooks on a saved tensor whose (hooks have already been set|value has been released)|Calling register_hooks on a saved tensor",
        """
        y = torch.rand(2, requires_grad=True).exp()
        saved = y.grad_fn._raw_saved_result
        saved.register_hooks(lambda t: t, lambda t: t)
        saved.register_hooks(lambda t: t, lambda t: t)
        """,
        "A saved tensor takes one pair of hooks, once, and only while it is held.",
        "У сохранённого тензора может быть одна пара хуков; задать её можно один раз и только до того, как он освобождён.",
        exercise="predict_hooks",
    ),
    entry(
        "not_saved",
        LESSON,
        r"'\w+Backward\d+' object has no attribute '_(raw_)?saved_\w+'",
        """
        (torch.rand(2, requires_grad=True) + 1).grad_fn._saved_self
        """,
        "This operation saves nothing under this name. `[name for name in dir(node) if name.startswith('_saved')]` lists what it saves.",
        "Эта операция ничего под таким именем не сохраняет. Список сохранённого: `[name for name in dir(node) if name.startswith('_saved')]`.",
        exercise="count_saved",
    ),
    entry(
        "mutation_allowed_inside_only",
        LESSON,
        r"Trying to backward outside of the 'allow_mutation_on_saved_tensors' context",
        """
        with graph.allow_mutation_on_saved_tensors():
            y = (torch.rand(2, requires_grad=True) * 1).exp()
            y.mul_(2)
        y.sum().backward()
        """,
        "The copies of changed tensors exist only inside `allow_mutation_on_saved_tensors()`. Call `backward()` inside as well.",
        "Копии изменённых тензоров существуют только внутри `allow_mutation_on_saved_tensors()`. Вызовите там же и `backward()`.",
        exercise="notice_edits",
    ),
)
