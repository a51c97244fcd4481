# %% mistake="a_copy_per_edit" theme="in_place"
# Each edit was taken to make a copy. Once backward has its copy, further edits change nothing that it needs.
# Вы ожидали, что копия делается при каждом изменении. Но когда у обратного прохода есть копия, дальнейшие изменения
#     ничего нужного ему не портят.
predict_copies = {**solution, "bytes: b.mul_(10) five times": 20000}

# %% mistake="copies_what_is_edited" theme="in_place"
# Only the edited numbers were counted. What is copied is the saved tensor, whole.
# Учтены только изменённые числа. Но копируется сохранённый тензор, и копируется целиком.
predict_copies = {**solution, "bytes: b[:10].mul_(10)": 40}

# %% mistake="copies_the_storage" theme="in_place"
# The whole of `b` was counted although only a slice was saved. The copy is of the saved tensor, not of its storage.
# Учтён весь `b`, хотя сохранён только срез. Но копируется сохранённый тензор, а не всё его хранилище.
predict_copies = {**solution, "bytes: b.mul_(10), c = b[:10] ** 2": 4000}

# %% mistake="copies_the_input" theme="recording"
# You expected an edit of `b` to cost a copy after `b.exp()`. `exp` saves its result, and that was not edited.
# Вы ожидали, что после `b.exp()` изменение `b` обойдётся в копию. Но `exp` сохраняет результат, а он не изменялся.
predict_copies = {**solution, "bytes: b.mul_(10), c = b.exp()": 4000}

# %% mistake="data_is_not_seen" theme="in_place"
# You expected an edit by `.data` to go unnoticed. Inside the block every operation of torch that writes to a saved
#     tensor is seen.
# Вы ожидали, что изменение через `.data` останется незамеченным. Но внутри блока замечается любая операция torch,
#     которая пишет в сохранённый тензор.
predict_copies = {**solution, "gradient: b.data.mul_(10)": 20.0}

# %% mistake="numpy_is_seen" theme="in_place"
# You expected an edit by NumPy to be noticed. NumPy writes into the memory without any operation of torch.
# Вы ожидали, что изменение через NumPy будет замечено. Но NumPy пишет в память без единой операции torch.
predict_copies = {**solution, "gradient: b.detach().numpy().fill(10)": 2.0}

# %% mistake="backward_may_come_later" theme="order"
# You expected backward to work after the block, since nothing was edited. What was saved in the block can be read
#     inside it only.
# Вы ожидали, что после блока обратный проход сработает, ведь ничего не изменено. Но сохранённое в блоке можно
#     прочитать только внутри него.
predict_copies = {**solution, "backward() after the with": 2.0}

# %% mistake="the_usual_error" theme="own"
# You expected autograd's error about an edit. Nothing was edited here: the block itself refuses a backward pass
#     outside, with an `AssertionError`.
# Вы ожидали обычную ошибку autograd об изменении на месте. Но здесь ничего не изменено: обратный проход снаружи
#     запрещает сам блок, и возникает `AssertionError`.
predict_copies = {**solution, "backward() after the with": RuntimeError}
