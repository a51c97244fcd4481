"""Explanations about loss scaling and mixed precision."""

from __future__ import annotations

from ..entry import entry

LESSON, CAPSTONES = "03_gradient_accumulation", "17_capstones"
SCALED = """
        w, scaler = torch.rand(2, requires_grad=True), torch.amp.GradScaler("cpu")
        optimizer = torch.optim.SGD([w], lr=0.1)
        scaler.scale(w.sum()).backward()
        """

ENTRIES = (
    entry(
        "unscaled_twice",
        LESSON,
        r"unscale_\(\) has already been called on this optimizer",
        f"""{SCALED}scaler.unscale_(optimizer)
        scaler.unscale_(optimizer)
        """,
        "Gradients are unscaled once per accumulation window: one `unscale_()` before clipping, then `step()` and `update()`.",
        "Масштаб снимают с градиентов один раз за окно накопления: один `unscale_()` перед отсечением, затем `step()` и `update()`.",
        exercise="unscale_then_clip",
    ),
    entry(
        "scaler_out_of_order",
        LESSON,
        r"step\(\) has already been called since the last update\(\)|unscale_\(\) is being called after step\(\)",
        f"""{SCALED}scaler.step(optimizer)
        scaler.step(optimizer)
        """,
        "A scaler has one order: `scale(loss).backward()`, `unscale_(optimizer)` if you clip, `step(optimizer)`, and once after the steps `update()`. Here `update()` is missing, or `unscale_()` comes too late.",
        "У `scaler` один порядок: `scale(loss).backward()`, при отсечении `unscale_(optimizer)`, затем `step(optimizer)` и один раз после шагов `update()`. Здесь не хватает `update()`, или `unscale_()` вызван слишком поздно.",
        exercise="unscale_then_clip",
    ),
    entry(
        "scaler_without_gradients",
        LESSON,
        r"No inf checks were recorded for this optimizer",
        """
        w, scaler = torch.rand(2, requires_grad=True), torch.amp.GradScaler("cpu")
        scaler.scale(w.sum())
        scaler.step(torch.optim.SGD([w], lr=0.1))
        """,
        "The scaler found no gradient to step with: `scaler.scale(loss).backward()` has to come before `scaler.step(optimizer)`.",
        "Объект `scaler` не нашёл ни одного градиента: до `scaler.step(optimizer)` нужно выполнить `scaler.scale(loss).backward()`.",
        exercise="unscale_then_clip",
    ),
    entry(
        "update_without_step",
        LESSON,
        r"No inf checks were recorded prior to update",
        f"""{SCALED}scaler.update()
        """,
        "`update()` changes the scale by what `step()` or `unscale_()` found, and neither was called: `scaler.step(optimizer)` first.",
        "`update()` меняет масштаб в зависимости от того, что обнаружили `step()` или `unscale_()`, а ни один из них не вызван: сначала `scaler.step(optimizer)`.",
        exercise="unscale_then_clip",
    ),
    entry(
        "loss_not_scaled",
        LESSON,
        r"Attempted \w+ but _scale is None",
        """
        w, scaler = torch.rand(2, requires_grad=True), torch.amp.GradScaler("cpu")
        w.sum().backward()
        scaler.step(torch.optim.SGD([w], lr=0.1))
        """,
        "The loss was never scaled: write `scaler.scale(loss).backward()` in place of `loss.backward()`.",
        "Функцию потерь ни разу не масштабировали: вместо `loss.backward()` напишите `scaler.scale(loss).backward()`.",
        exercise="unscale_then_clip",
    ),
    entry(
        "number_scaled",
        LESSON,
        r"outputs must be a Tensor or an iterable of Tensors",
        """
        torch.amp.GradScaler("cpu").scale(1.0)
        """,
        "`scale` takes the loss as a tensor, and was given a number: leave out `.item()` or `float()`.",
        "`scale` принимает значение функции потерь как тензор, а получила число: уберите `.item()` или `float()`.",
        exercise="unscale_then_clip",
    ),
    entry(
        "scaler_with_a_closure",
        LESSON,
        r"Closure use is not currently supported if GradScaler is enabled",
        f"""{SCALED}scaler.step(optimizer, closure=lambda: w.sum())
        """,
        "A scaler cannot work with a closure. Leave the closure out (`SGD` and `Adam` need none), or train without a scaler (`LBFGS`).",
        "`scaler` не работает с функцией `closure`. Уберите её (`SGD` и `Adam` обходятся без неё) или обучайте без `scaler` (`LBFGS`).",
        exercise="unscale_then_clip",
    ),
    entry(
        "half_weights",
        CAPSTONES,
        r"Attempting to unscale FP16 gradients",
        """
        w, scaler = torch.rand(2).half().requires_grad_(), torch.amp.GradScaler("cpu")
        scaler.scale(w.sum()).backward()
        scaler.unscale_(torch.optim.SGD([w], lr=0.1))
        """,
        "The weights themselves are float16. In mixed precision they stay float32, and `autocast` chooses the lower precision for each operation.",
        "Сами веса хранятся в float16. При смешанной точности они остаются в float32, а пониженную точность для каждой операции выбирает `autocast`.",
        exercise="step_in_half",
    ),
    entry(
        "scaler_without_a_gpu",
        CAPSTONES,
        r"GradScaler is enabled, but CUDA is not available",
        """
        torch.amp.GradScaler("cuda")
        """,
        'The scaler was made for a GPU, and torch finds none: it does nothing now. On the CPU write `torch.amp.GradScaler("cpu")`, or leave the scaler out, since bfloat16 needs none.',
        'Объект `scaler` создан для GPU, а torch его не находит, поэтому масштабирование выключено. На CPU пишите `torch.amp.GradScaler("cpu")` или обойдитесь без него: для bfloat16 он не нужен.',
        exercise="step_in_half",
    ),
    entry(
        "old_name_of_the_scaler",
        CAPSTONES,
        r"`torch\.(cuda|cpu)\.amp\.(GradScaler|autocast)\(args\.\.\.\)` is deprecated",
        """
        torch.cuda.amp.GradScaler()
        """,
        'This is the old name. It is `torch.amp.GradScaler("cuda")` and `torch.autocast("cuda")` now.',
        'Это старое имя. Теперь пишут `torch.amp.GradScaler("cuda")` и `torch.autocast("cuda")`.',
        exercise="step_in_half",
    ),
    entry(
        "autocast_without_a_gpu",
        CAPSTONES,
        r"CUDA is not available or torch_xla is imported\. Disabling autocast",
        """
        with torch.autocast("cuda"):
            pass
        """,
        '`autocast` was asked for a GPU, and torch finds none: everything is computed in float32. On the CPU write `torch.autocast("cpu", dtype=torch.bfloat16)`.',
        'Для `autocast` указан GPU, а torch его не находит: всё считается в float32. На CPU пишите `torch.autocast("cpu", dtype=torch.bfloat16)`.',
        exercise="step_in_half",
    ),
    entry(
        "autocast_dtype",
        CAPSTONES,
        r"autocast, but the target dtype is not supported",
        """
        with torch.autocast("cpu", dtype=torch.float64):
            pass
        """,
        "`autocast` lowers the precision, and knows bfloat16 and float16 only. It is switched off here: write `dtype=torch.bfloat16`.",
        "`autocast` понижает точность и знает только bfloat16 и float16. Здесь он выключен: напишите `dtype=torch.bfloat16`.",
        exercise="step_in_half",
    ),
)
