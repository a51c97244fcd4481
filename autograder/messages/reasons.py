"""Reasons for a review of a submission, or for its failed grading."""

from __future__ import annotations

from ..language import Note, Text

SEVERAL = "several"
REASONS: dict[str, Text] = {
    "put_back": Text("deleted and put back: {cell}", "удалена и возвращена на место: {cell}"),
    "copy.of": Text(
        "this copy was handed out to {student}; its tables are judged by the programs of whoever handed it in",
        "эта тетрадь выдана студенту {student}; таблицы в ней проверены по программам того, кто её сдал",
    ),
    "copy.common": Text(
        "the common notebook, not the student's own copy; its tables are judged by the student's own programs",
        "это общая тетрадь, а не личная копия студента; таблицы в ней проверены по программам студента",
    ),
    "copy.unknown": Text(
        "not the student's own copy: its tables are somebody else's, and judged by the student's own programs",
        "это не личная копия студента: таблицы в ней чужие, а проверены по программам студента",
    ),
    "repeated": Text(
        "there more than once, the last one counts: {cell}", "встречается несколько раз, засчитана последняя: {cell}"
    ),
    "checker_failed": Text("the checker failed on {name}", "сбой проверки: {name}"),
    "ended.time": Text("ran too long", "выполнение заняло слишком много времени"),
    "ended.memory": Text("took too much memory", "программа заняла слишком много памяти"),
    "ended.disk": Text("wrote too much to the disk", "программа записала слишком много данных на диск"),
    "ended.died": Text("its process ended", "процесс, в котором выполнялась работа, завершился"),
    "ended.nonsense": Text(
        "its process sent an unexpected message", "процесс, в котором выполнялась работа, прислал постороннее сообщение"
    ),
    "no_message": Text(
        "its process sent data that is not a message of the sandbox",
        "вместо результатов проверки пришло постороннее сообщение",
    ),
    "malformed": Text(
        "{name}: the result of the probe was malformed ({error})",
        "{name}: результат проверки пришёл в неверном виде ({error})",
    ),
    "replaced_at_end": Text(
        "at the end: replaced or left on: {what}", "в конце: заменено или оставлено включённым: {what}"
    ),
    "replaced": Text("{name}: replaced or left on: {what}", "{name}: заменено или оставлено включённым: {what}"),
    SEVERAL: Text(
        "more than one notebook with answers: {taken} was graded, not {rest}",
        "тетрадей с ответами несколько: проверена {taken}, не проверены: {rest}",
    ),
    "bad_time": Text(
        "timestamp.txt holds no time, so nobody knows whether it was late",
        "в timestamp.txt нет времени, поэтому неизвестно, сдана ли работа в срок",
    ),
    "future_time": Text(
        "the time of the submission is in the future, so nobody knows whether it was late",
        "время сдачи ещё не наступило, поэтому неизвестно, сдана ли работа в срок",
    ),
    "no_time": Text(
        "no time of submission, so nobody knows whether it was late",
        "время сдачи не указано, поэтому неизвестно, сдана ли работа в срок",
    ),
    "no_notebook_but": Text(
        "no notebook in {folder}: expected {expected}; {found}",
        "в {folder} нет тетради {expected}; {found}",
    ),
    "no_notebook": Text("no notebook in {folder}: expected {expected}", "в {folder} нет тетради {expected}"),
    "link": Text("{name} cannot be opened: it is a link", "{name} не открыть: это ссылка"),
    "cannot_open": Text("{name} cannot be opened: {why}", "{name} не открыть: {why}"),
    "not_regular": Text("{name} is no regular file", "{name}: это не обычный файл"),
    "large_file": Text(
        "{name} has {size} MB; at most {most} MB are read", "{name}: {size} МБ, а читается не больше {most} МБ"
    ),
    "cannot_read": Text("{name} cannot be read: {why}", "{name} не прочитать: {why}"),
    "empty": Text("{name} is empty", "{name}: файл пуст"),
    "many_values": Text(
        "{name} has more than {most} values: clear the outputs, save it, and hand it in again",
        "{name}: значений больше, чем {most}; очистите выводы, сохраните тетрадь и сдайте её ещё раз",
    ),
    "nested": Text(
        "{name} is no notebook: its JSON is nested too deeply",
        "{name}: это не тетрадь, вложенность JSON слишком велика",
    ),
    "no_object": Text("{name} is no notebook: its JSON is no object", "{name}: это не тетрадь, JSON в ней не объект"),
    "word": Text(
        "{name} is a document of Word or a similar program, not the notebook: ask the student for the file that ends in "
        ".ipynb",
        "{name}: это документ Word или похожей программы, а не тетрадь; попросите у студента файл с окончанием .ipynb",
    ),
    "spreadsheet": Text(
        "{name} is a spreadsheet, as of Excel, not the notebook: ask the student for the file that ends in .ipynb",
        "{name}: это электронная таблица, как в Excel, а не тетрадь; попросите у студента файл с окончанием .ipynb",
    ),
    "slides": Text(
        "{name} is a presentation, as of PowerPoint, not the notebook: ask the student for the file that ends in .ipynb",
        "{name}: это презентация, как в PowerPoint, а не тетрадь; попросите у студента файл с окончанием .ipynb",
    ),
    "zip": Text(
        "{name} is no notebook but a zip archive: unpack it into the student's folder",
        "{name}: это не тетрадь, а архив zip; распакуйте его в папку студента",
    ),
    "only_zeros": Text(
        "{name} holds only zero bytes, so it was not uploaded whole: ask the student to hand it in again",
        "{name}: в файле одни нулевые байты, он загружен не полностью; попросите студента сдать его ещё раз",
    ),
    "rar": Text(
        "{name} is a RAR archive, which cannot be opened here: unpack it, or ask for the notebook itself",
        "{name}: это архив RAR, здесь его не открыть; распакуйте его или попросите саму тетрадь",
    ),
    "seven_zip": Text(
        "{name} is a 7z archive, which cannot be opened here: unpack it, or ask for the notebook itself",
        "{name}: это архив 7z, здесь его не открыть; распакуйте его или попросите саму тетрадь",
    ),
    "tar": Text(
        "{name} is no notebook but a packed file, such as a tar archive: unpack it into the student's folder",
        "{name}: это не тетрадь, а сжатый файл, например архив tar; распакуйте его в папку студента",
    ),
    "pdf": Text(
        "{name} is a PDF document, not the notebook: ask the student for the file that ends in .ipynb",
        "{name}: это документ PDF, а не тетрадь; попросите у студента файл с окончанием .ipynb",
    ),
    "picture": Text(
        "{name} is a picture, not the notebook: ask the student for the file that ends in .ipynb",
        "{name}: это картинка, а не тетрадь; попросите у студента файл с окончанием .ipynb",
    ),
    "html_export": Text(
        "{name} is a notebook exported as a web page, without its cells: ask the student for the file that ends in "
        ".ipynb",
        "{name}: это тетрадь, сохранённая как веб-страница, ячеек в ней нет; попросите у студента файл с окончанием "
        ".ipynb",
    ),
    "web_page": Text(
        "{name} is a web page, not the notebook: ask the student to download the notebook itself (on GitHub: Download "
        "raw file) and to hand in the file that ends in .ipynb",
        "{name}: это веб-страница, а не тетрадь; попросите студента скачать саму тетрадь (на GitHub: Download raw "
        "file) и сдать файл с окончанием .ipynb",
    ),
    "lfs_pointer": Text(
        "{name} is a pointer of Git LFS and not the file: ask the student to run `git lfs pull` and to hand in the "
        "notebook itself",
        "{name}: это указатель Git LFS, а не сам файл; попросите студента выполнить `git lfs pull` и сдать саму тетрадь",
    ),
    "web_link": Text(
        "{name} is a link, not a notebook: ask the student to download the notebook and to hand in the file that ends "
        "in .ipynb",
        "{name}: это ссылка, а не тетрадь; попросите студента скачать тетрадь и сдать файл с окончанием .ipynb",
    ),
    "merge_conflict": Text(
        "{name} holds an unfinished merge of git (lines with <<<<<<< and >>>>>>>): ask the student to resolve it and to "
        "hand it in again",
        "{name}: в файле незавершённое слияние git (строки с <<<<<<< и >>>>>>>); попросите студента завершить его и "
        "сдать тетрадь ещё раз",
    ),
    "script": Text(
        "{name} is a Python program, not the notebook: ask the student for the file that ends in .ipynb",
        "{name}: это программа на Python, а не тетрадь; попросите у студента файл с окончанием .ipynb",
    ),
    "other_lesson": Text(
        "{name} is the notebook of {lesson}, handed in under this name: ask the student for the right one",
        "{name}: это тетрадь {lesson}, сданная под этим именем; попросите у студента нужную",
    ),
    "cut_off": Text(
        "{name} is no notebook: the file is cut off, so it was not saved or uploaded whole: ask the student for the "
        "whole file",
        "{name}: это не тетрадь, файл обрывается на полуслове, то есть сохранён или загружен не полностью; попросите "
        "студента прислать его целиком",
    ),
    "no_json": Text("{name} is no notebook: {why}", "{name}: это не тетрадь, JSON не читается ({why})"),
    "no_format": Text(
        "{name} has no number of a notebook format; 4 is needed", "{name}: формат тетради не указан, нужен 4"
    ),
    "wrong_format": Text(
        "{name} has notebook format {number}; 4 is needed", "{name}: формат тетради {number}, нужен 4"
    ),
    "no_cells": Text("{name} has no list of cells", "{name}: нет списка ячеек"),
    "not_converted": Text(
        "{name} cannot be converted from notebook format {number}",
        "{name} не преобразовать из формата тетради {number}",
    ),
    "large_notebook": Text(
        "{name} has {cells} cells with {count} characters: more than can be run",
        "{name}: слишком большая тетрадь, ячеек {cells}, знаков {count}",
    ),
    "not_isolated": Text("its process could not be isolated: {why}", "её процесс не удалось изолировать: {why}"),
    "our_error": Text("our error, please report it: {error}", "ошибка в самой системе, сообщите о ней: {error}"),
    "no_gradebook": Text("the gradebook cannot be written: {why}", "не удалось записать в журнал: {why}"),
    # -- conspicuous places in the source ------------------------------------------------------------------------
    "look.assigned": Text(
        "{where}, line {line}: changes a library: {what}", "{where}, строка {line}: меняет библиотеку ({what})"
    ),
    "look.imported": Text("{where}, line {line}: imports {what}", "{where}, строка {line}: импортирует {what}"),
    "look.used": Text("{where}, line {line}: uses {what}", "{where}, строка {line}: использует {what}"),
    "look.handed": Text(
        "{where}, line {line}: hands on the module {what}",
        "{where}, строка {line}: передаёт дальше модуль {what}",
    ),
    "look.text": Text("{where}, line {line}: a text names {what}", "{where}, строка {line}: в тексте названо {what}"),
    "look.run": Text(
        "{where}, line {line}: makes code or objects out of data: {what}",
        "{where}, строка {line}: делает код или объекты из данных ({what})",
    ),
    "look.more": Text("{what} more, up to {where}, line {line}", "ещё {what}, вплоть до {where}, строка {line}"),
    "look.unread": Text(
        "{where}: too long or nested too deeply to be looked at",
        "{where}: слишком длинная или слишком глубоко вложенная, не просмотрена",
    ),
    # -- no sentence of ours: an error of the operating system ----------------------------------------------------
    "text": Text.same("{text}"),
}


def make_reason(id: str, **parameters: object) -> Note:
    """Return the note that states a reason. Raises KeyError if `REASONS` lacks the id or a parameter."""
    REASONS[id].format(**parameters)
    return Note(id, parameters)


def describe_reason(reason: Note) -> Text:
    """Return the sentence of a reason. A reason that only a newer version knows is shown by its id."""
    try:
        return REASONS[reason.id].format(**reason.parameters)
    except LookupError:
        shown = f"{reason.id} {reason.parameters}"
        return Text.same(shown)
