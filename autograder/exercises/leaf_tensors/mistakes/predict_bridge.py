# %%
import torch

# %% mistake="bridge_makes_float32" theme="precision"
# You expected `from_numpy` to give float32. It keeps the array's dtype, and NumPy's default is float64.
# Вы ожидали, что функция `from_numpy` даст float32. Но она сохраняет dtype массива, а в NumPy по умолчанию float64.
predict_bridge = {**solution, "torch.from_numpy(array).dtype": "torch.float32"}

# %% mistake="from_numpy_copies" theme="in_place"
# `from_numpy` was taken to copy. It gives a tensor with the array's own memory.
# Вы ожидали, что `from_numpy` копирует. Но эта функция даёт тензор с той же памятью, что у массива.
predict_bridge = {**solution, "shared[0] after array[0] = 5": 1.0}

# %% mistake="torch_tensor_shares" theme="in_place"
# `torch.tensor(array)` was taken to share the array's memory. It always copies.
# Вы ожидали, что у `torch.tensor(array)` и массива общая память. Но эта функция всегда копирует.
predict_bridge = {**solution, "copied[0] after array[0] = 5": 5.0}

# %% mistake="to_numpy_copies" theme="in_place"
# `numpy()` was taken to copy. The memory is shared: an edit of the array is an edit of the tensor.
# Вы ожидали, что `numpy()` копирует. Но память общая: меняется массив — меняется и тензор.
predict_bridge = {**solution, "c[0] after c.numpy()[0] = 7": 1.0}

# %% mistake="numpy_always_needs_detach" theme="recording"
# `detach()` was taken to be needed for every conversion. A constant does not need it: it has no history to hide.
# Не учтено, что константе вызов `detach()` не нужен: у неё нет истории.
predict_bridge = {**solution, "c[0] after c.numpy()[0] = 7": "RuntimeError"}

# %% mistake="tracked_converts" theme="recording"
# You expected a tensor that requires grad to convert. Torch refuses: what the array is used for would leave the
#     graph without a word.
# Вы ожидали, что тензор, который требует градиента, преобразуется. Но torch это запрещает: действия с массивом
#     незаметно прошли бы мимо графа.
predict_bridge = {**solution, "w.numpy()": "accepted"}

# %% mistake="no_grad_is_refused" theme="recording"
# You expected `numpy()` to be refused under `no_grad()` as well. Nothing is recorded there, so there is nothing to
#     refuse.
# Вы ожидали, что внутри `no_grad()` вызов `numpy()` тоже закончится ошибкой. Но там ничего не записывается, и
#     запрещать нечего.
predict_bridge = {**solution, "w.numpy() under no_grad": "RuntimeError"}

# %% mistake="tolist_is_refused" theme="recording"
# You expected `tolist()` to need `detach()`. It copies the numbers out into a Python list, and that is allowed.
# Вы ожидали, что для `tolist()` нужен `detach()`. Но этот метод копирует числа в список Python, и это разрешено.
predict_bridge = {**solution, "w.tolist()": "RuntimeError"}

# %% mistake="detach_copied" theme="in_place"
# `detach()` was taken to copy before the edit. It is the leaf's own memory that was edited.
# Вы ожидали, что `detach()` копирует. Но изменена память самого листа.
predict_bridge = {**solution, "w[0] after w.detach().numpy()[0] = 9": 1.0}

# %% mistake="numpy_is_counted" theme="in_place"
# The edit through NumPy was counted as a new version. The version counter belongs to torch, and NumPy writes past
#     it.
# Изменение через NumPy прибавлено к счётчику версий. Но этот счётчик ведёт torch, а изменения через NumPy в него не
#     попадают.
predict_bridge = {**solution, "w._version": 1}

# %% mistake="leaves_the_module_out" theme="slip"
# The name of a dtype of torch begins with the module: `torch.float64`.
# Имя dtype в torch начинается с имени модуля: `torch.float64`.
predict_bridge = {**solution, "torch.from_numpy(array).dtype": "float64"}

# %% mistake="gives_the_dtype_itself" theme="slip"
# The dtype itself stands there, without quotes. The function returns its name as text.
# Стоит сам dtype, без кавычек. А функция возвращает его имя в виде строки.
predict_bridge = {**solution, "torch.from_numpy(array).dtype": torch.float64}

# %% mistake="expects_a_type_error" theme="own"
# You expected a `TypeError`. Torch could convert the tensor and refuses to, with a `RuntimeError`.
# Вы ожидали `TypeError`. Но преобразовать тензор torch мог бы, только не хочет: это `RuntimeError`.
predict_bridge = {**solution, "w.numpy()": "TypeError"}
