# %% mistake="old_results_lose_the_flag" theme="recording"
# You expected `h` to lose its flag inside `no_grad()`. `h` was recorded before the block; the mode is about
#     operations that run inside.
# Вы ожидали, что внутри `no_grad()` тензор `h` потеряет флаг. Но `h` записан до блока, а режим касается только
#     операций, которые выполняются внутри.
predict_modes = {**solution, "h under no_grad": False}

# %% mistake="backward_is_refused" theme="recording"
# A backward pass was taken to need recording. It walks a graph that is there already, and records nothing itself.
# Вы ожидали здесь ошибку, но обратный проход идёт по уже готовому графу и сам ничего не записывает.
predict_modes = {**solution, "loss.backward() under no_grad": "RuntimeError"}

# %% mistake="enable_grad_wins" theme="recording"
# You expected `enable_grad()` to end `inference_mode()`. Inside that block nothing is recorded, whatever the grad
#     mode.
# Вы ожидали, что `enable_grad()` отменит режим `inference_mode()`. Но внутри этого блока ничего не записывается,
#     каким бы ни был режим градиентов.
predict_modes = {**solution, "w * 2, enable_grad in inference_mode": True}

# %% mistake="eval_switches_off" theme="recording"
# `eval()` was taken to switch recording off. It only changes what layers such as dropout do; the graph is built as
#     before.
# Вызов `eval()` принят за выключение записи. Но он лишь меняет поведение слоёв вроде dropout, а граф строится как
#     прежде.
predict_modes = {**solution, "net(x) after net.eval()": False}

# %% mistake="inference_is_always_refused" theme="recording"
# You expected every use of an inference tensor in training to fail. Addition saves nothing for backward, so it
#     passes; that is why the error comes and goes.
# Вы ожидали здесь ошибку, но сложение ничего не сохраняет для обратного прохода. Поэтому с inference-тензором
#     ошибка возникает не всегда.
predict_modes = {**solution, "f + w": "RuntimeError"}

# %% mistake="inference_is_a_constant" theme="recording"
# An inference tensor was taken for an ordinary constant. The product must save `f` for the gradient of `w`, and an
#     inference tensor may not be saved.
# Inference-тензор принят за обычную константу. Но произведение должно сохранить `f` ради градиента `w`, а сохранять
#     inference-тензор нельзя.
predict_modes = {**solution, "f * w": "accepted"}

# %% mistake="inference_can_be_edited" theme="recording"
# You expected an edit of an inference tensor to pass. It has no version counter, so torch refuses in-place edits
#     outside `inference_mode()`.
# Не учтено, что у inference-тензора нет счётчика версий: вне `inference_mode()` менять его на месте запрещено.
predict_modes = {**solution, "f.add_(1)": "accepted"}

# %% mistake="a_flag_for_an_attempt" theme="slip"
# True or False stands in a row where something is tried. The answer in such a row is `"accepted"` or
#     `"RuntimeError"`.
# True или False стоит в строке, где пробуют выполнить действие. Ответ в таких строках — `"accepted"` или
#     `"RuntimeError"`.
predict_modes = {**solution, "f + w": True}
