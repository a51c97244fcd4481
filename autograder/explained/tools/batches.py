"""Explanations about `vmap`."""

from __future__ import annotations

from ..entry import entry
from ..python_texts import under

LESSON, HIGHER = "05_jacobian_products", "10_higher_order"

ENTRIES = (
    entry(
        "item_under_vmap",
        LESSON,
        r"calling \.item\(\) on a Tensor|data-dependent control flow",
        """
        torch.func.vmap(lambda x: x if x > 0 else -x)(torch.rand(3))
        """,
        "`vmap` runs the function for all samples at once, so no single value is there to look at: no `.item()` and no `if` on a tensor. `torch.where` can choose.",
        "`vmap` выполняет функцию сразу для всех примеров, и отдельного значения в ней нет: ни `.item()`, ни `if` по тензору не сработают. Для выбора есть `torch.where`.",
        exercise="per_sample_gradients",
    ),
    entry(
        "chance_under_vmap",
        LESSON,
        r"vmap: called random operation while in randomness error mode|Only allowed values for randomness are",
        """
        torch.func.vmap(lambda x: F.dropout(x))(torch.rand(3, 2))
        """,
        '`vmap` has to be told what chance means here: `randomness="different"` for every sample its own, `randomness="same"` one for all.',
        '`vmap` нужно указать, как быть со случайностью: `randomness="different"` — у каждого примера своя, `randomness="same"` — одна на всех.',
        exercise="per_sample_gradients",
    ),
    entry(
        "unequal_batches",
        LESSON,
        r"vmap: Expected all tensors to have the same size in the mapped dimension",
        """
        torch.func.vmap(torch.dot)(torch.rand(3, 2), torch.rand(4, 2))
        """,
        "`vmap` walks along dimension 0 of every argument, and here their sizes differ. An argument that is the same for all samples is given None: `in_dims=(0, None)`.",
        "`vmap` идёт по измерению 0 каждого аргумента, а здесь размеры разные. Для аргумента, общего для всех примеров, указывают None: `in_dims=(0, None)`.",
        exercise="per_sample_gradients",
    ),
    entry(
        "nothing_to_map_over",
        LESSON,
        r"Got in_dim=-?\d+ for (some|an) input",
        """
        torch.func.vmap(torch.mul)(torch.rand(3), 2.0)
        """,
        "This argument is a number, or a tensor without that dimension: there is nothing to map over. Say that it is the same for all samples: `in_dims=(0, None)`.",
        "Этот аргумент — число или тензор, у которого такого измерения нет: идти не по чему. Укажите, что он общий для всех примеров: `in_dims=(0, None)`.",
        exercise="per_sample_gradients",
    ),
    entry(
        "in_dims",
        LESSON,
        r"in_dims is not compatible with the structure of|expected `in_dims` to be int or a",
        """
        torch.func.vmap(torch.mul, in_dims=(0,))(torch.rand(3), torch.rand(3))
        """,
        "`in_dims` is one number for all arguments, or a tuple with an entry for each of them: `in_dims=(0, None)`. Data come in a second call: `vmap(f, in_dims)(x, y)`.",
        "`in_dims` — одно число для всех аргументов или кортеж с элементом для каждого: `in_dims=(0, None)`. Данные передают во втором вызове: `vmap(f, in_dims)(x, y)`.",
        exercise="per_sample_gradients",
    ),
    entry(
        "vmap_of_nothing",
        LESSON,
        r"vmap\(.*\)\(<inputs>\): got no inputs",
        """
        torch.func.vmap(lambda: torch.rand(2))()
        """,
        "`vmap` maps a function over its arguments, and this one has none. Give it an argument, or call it in a loop.",
        "`vmap` применяет функцию вдоль её аргументов, а здесь их нет. Добавьте аргумент или вызывайте функцию в цикле.",
        exercise="per_sample_gradients",
    ),
    entry(
        "vmap_returns_a_number",
        LESSON,
        r"must only return Tensors, got type",
        """
        torch.func.vmap(lambda x: 1.0)(torch.rand(3))
        """,
        "Under `vmap` the function returns tensors, and this one returns something else: a number, or None where `return` is missing.",
        "Внутри `vmap` функция возвращает тензоры, а эта возвращает другое: число или None, если забыт `return`.",
        exercise="per_sample_gradients",
    ),
    entry(
        "size_that_depends_on_numbers",
        HIGHER,
        r"batching operators that can (support|output) dynamic shape|Attempted to vmap over `mask` in torch\.masked_select",
        """
        torch.func.vmap(lambda x: x[x > 0].sum())(torch.rand(3, 2))
        """,
        "The size of this result depends on the numbers, and under `vmap` each sample would have another size. Use `torch.where` instead of `x[x > 0]` or `nonzero()`.",
        "Размер этого результата зависит от самих чисел, и внутри `vmap` у каждого примера он был бы свой. Вместо `x[x > 0]` или `nonzero()` используйте `torch.where`.",
        exercise="fix_vmap",
    ),
    entry(
        "one_hot_under_vmap",
        HIGHER,
        r"please provide an explicit positive num_classes argument",
        """
        torch.func.vmap(F.one_hot)(torch.tensor([0, 1]))
        """,
        "`one_hot` reads the number of classes off the numbers, and under `vmap` it cannot look at them. Say it: `F.one_hot(x, num_classes=10)`.",
        "`one_hot` определяет число классов по самим числам, а внутри `vmap` их не видно. Укажите его: `F.one_hot(x, num_classes=10)`.",
        exercise="fix_vmap",
    ),
    entry(
        "write_under_vmap",
        HIGHER,
        r"vmap: inplace arithmetic",
        """
        def write(x):
            pair = torch.zeros(2)
            pair[0] = x
            return pair

        torch.func.vmap(write)(torch.rand(3))
        """,
        "Under `vmap` a batch is written into a tensor that has no place for one, such as `torch.zeros(...)`. Make the tensor with `x.new_zeros(...)`, or compute out of place.",
        "Внутри `vmap` целый батч записывается в тензор, где для него нет места, например в `torch.zeros(...)`. Создайте тензор через `x.new_zeros(...)` или вычисляйте без изменения на месте.",
        exercise="fix_vmap",
    ),
    entry(
        "sum_in_place_under_vmap",
        HIGHER,
        r"output with shape .* doesn't match the broadcast shape",
        """
        torch.func.vmap(lambda x: torch.zeros(2).add_(x))(torch.rand(3, 2))
        """,
        "Under `vmap` a batch is written into a tensor that has no place for one, such as `torch.zeros(...)`. Make the tensor with `torch.zeros_like(x)` or `x.new_zeros(...)`, or compute out of place.",
        "Внутри `vmap` целый батч записывается в тензор, где для него нет места, например в `torch.zeros(...)`. Создайте тензор через `torch.zeros_like(x)` или `x.new_zeros(...)` либо вычисляйте без изменения на месте.",
        exercise="fix_vmap",
        fits=under("vmap.py"),
    ),
    entry(
        "loop_under_vmap",
        HIGHER,
        r"There is a performance drop because we have not yet implemented the batching rule",
        """
        torch.func.vmap(torch.histc)(torch.rand(3, 4))
        """,
        "The result is right, but this operation has no rule for batches: `vmap` runs it in a loop, one sample after the other. Take another formula, or accept the time.",
        "Результат верен, но правила для батчей у этой операции нет: `vmap` выполняет её в цикле, пример за примером. Возьмите другую формулу или согласитесь на такую скорость.",
        exercise="fix_vmap",
    ),
    entry(
        "escaped_from_a_transform",
        HIGHER,
        r"your tensor may have escaped from inside a function being vmapped",
        """
        kept = []
        def f(x):
            kept.append(x)
            return x

        torch.func.vmap(f)(torch.rand(3))
        kept[0] + 1
        """,
        "A tensor from inside `vmap` or `grad` was kept in a variable outside, and there it means nothing. Return it from the function; with `grad` use `has_aux=True`.",
        "Тензор из функции внутри `vmap` или `grad` сохранён во внешней переменной, а снаружи он ничего не значит. Возвращайте его из функции; у `grad` для этого есть `has_aux=True`.",
        exercise="per_sample_module",
    ),
)
