# %% [markdown] tags=["en"]
# # torch.autograd, learned by doing
#
# Click a lesson to open it. The minutes are those of reading and of the exercises that count; extra exercises come on top. [One page](summary.ipynb) holds what to keep of all lessons, the explained errors and the terms; [the gallery](gallery.ipynb) shows what `draw` and `steps` draw.
# %% [markdown] tags=["ru"] of="8021b81b"
# # torch.autograd на деле
#
# Чтобы открыть урок, щёлкните по его названию. В минутах указано время на чтение и на упражнения, которые идут в зачёт. Дополнительные упражнения сюда не входят. На [одной странице](summary.ipynb) собрано то, что стоит запомнить из всех уроков, объяснения ошибок и термины, а что рисуют `draw` и `steps`, показано в [галерее](gallery.ipynb).
# %% tags=["en"]
# Does the import fail? Install the course by pip, and uninstall another `autograder`.
from autograder import contents

contents("en")
# %% tags=["ru"]
# Ошибка импорта? Установите курс через pip, а другой `autograder` удалите.
from autograder import contents

contents("ru")
# %% [markdown] tags=["en"]
# The table shows what you had done when JupyterLab was started. Run the cell above to bring it up to date.
#
# You know a part of this already? `from autograder import placement; placement()`, in a new cell, asks the hard rows of each lesson's table, about two minutes each, and says what you can skip.
# %% [markdown] tags=["ru"] of="b583307d"
# В таблице видно, что было сделано до запуска JupyterLab. Чтобы её обновить, выполните ячейку выше.
#
# Часть курса вам уже знакома? Выполните в новой ячейке `from autograder import placement; placement()`: курс спросит о трудных строках из таблицы каждого урока, минуты по две на урок, и скажет, что можно пропустить.
