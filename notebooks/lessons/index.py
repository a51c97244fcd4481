# %% [markdown] tags=["en"]
# # torch.autograd, learned by doing
#
# Click a lesson to open it. The minutes are those of reading and of the exercises that count; extra exercises come on top. [The gallery](gallery.ipynb) shows what `draw` and `steps` draw.
# %% [markdown] tags=["ru"] of="052fbb76"
# # torch.autograd на деле
#
# Чтобы открыть урок, щёлкните по его названию. В минутах указано время на чтение и на упражнения, которые идут в зачёт; дополнительные упражнения сюда не входят. Что рисуют `draw` и `steps`, показано в [галерее](gallery.ipynb).
# %% tags=["en"]
# The import fails? Install the course's file (or autograd-course) with pip, uninstall the other `autograder`.
from autograder import contents, start

start(language="en")
# %% tags=["ru"]
# Ошибка импорта? Установите через pip файл курса (или autograd-course), а другой `autograder` удалите.
from autograder import contents, start

start(language="ru")
# %% [markdown] tags=["en"]
# The table shows what you had done when JupyterLab was started. Run its cell, after the one above, to bring it up to date.
# %% [markdown] tags=["ru"] of="7192d2e3"
# В таблице видно, что было сделано к запуску JupyterLab. Чтобы её обновить, выполните ячейку выше, а затем ячейку с таблицей.
# %%
contents()
