"""Sentences on runs of graded submissions that were stopped or replaced."""

from __future__ import annotations

from ...language import Text

GRADED_RUNS: dict[str, Text] = {
    # -- failures of a graded submission -------------------------------------------------------------------------
    "run.time": Text(
        "Stopped: it ran longer than it may. Nothing after this cell was run.",
        "Остановлено: превышено допустимое время. Ячейки ниже не выполнялись.",
    ),
    "run.cell": Text(
        "This cell ran longer than a cell may and was stopped: an endless loop?",
        "Ячейка выполнялась дольше допустимого и была остановлена: бесконечный цикл?",
    ),
    "run.needless": Text(
        "Not run in grading: nothing that is graded needs this cell.",
        "При проверке не выполнялась: для оценки эта ячейка не нужна.",
    ),
    "run.memory": Text(
        "Stopped: it took more memory than it may. Nothing after this cell was run.",
        "Остановлено: превышен допустимый объём памяти. Ячейки ниже не выполнялись.",
    ),
    "run.disk": Text(
        "Stopped: it wrote more to the disk than it may. Nothing after this cell was run.",
        "Остановлено: на диск записано больше допустимого. Ячейки ниже не выполнялись.",
    ),
    "run.died": Text(
        "The process that ran this notebook ended here. Nothing after this cell was run.",
        "Процесс, выполнявший тетрадь, здесь завершился. Ячейки ниже не выполнялись.",
    ),
    "run.refused": Text(
        "`{what}` is refused while a submission is graded: it leads into the grader. This costs no points by itself: only "
        "the statement that asked for it was stopped.",
        "Во время оценивания обращаться к `{what}` нельзя: это путь внутрь проверяющей программы. Само по себе это баллов "
        "не снимает: прервана только инструкция, которая к нему обратилась.",
    ),
    "run.import": Text(
        "The course's package has no such name: was this notebook made for another version of the course? Take the "
        "import from the notebook that is handed out now.",
        "Такого имени в пакете курса нет: возможно, тетрадь сделана для другой версии курса. Возьмите строку импорта "
        "из тетради, которая выдаётся сейчас.",
    ),
    "run.shadowed": Text(
        "`{name}` is a module of Python or of a library here, and your file {name}.py was not read. Give the file "
        "another name.",
        "`{name}` здесь — модуль самого Python или библиотеки, а ваш файл {name}.py не прочитан. Переименуйте файл.",
    ),
    "run.left_out": Text(
        "Outputs of this cell were left out: there were too many, or they were too long.",
        "Часть вывода этой ячейки не показана: его слишком много.",
    ),
    "run.nonsense": Text(
        "Stopped: the process that ran this notebook sent something else than outputs. A person will look at it.",
        "Остановлено: процесс, выполнявший тетрадь, передал не то, что должен. Работу посмотрит преподаватель.",
    ),
    "switch.on": Text("on", "включено"),
    "switch.off": Text("off", "выключено"),
}
