"""Russian translation of the reasons that grading stores in English."""

from __future__ import annotations

import re
import string

from ...language import Text

# The first match counts.
REASONS = [
    Text("deleted: {cell}", "удалена ячейка: {cell}"),
    Text("deleted and put back: {cell}", "удалена и возвращена на место: {cell}"),
    Text("there more than once, the last one counts: {cell}", "встречается несколько раз, засчитана последняя: {cell}"),
    Text("the checker failed on {name}", "сбой проверки: {name}"),
    Text("ran too long", "выполнение заняло слишком много времени"),
    Text("took too much memory", "программа заняла слишком много памяти"),
    Text("wrote too much to the disk", "программа записала слишком много данных на диск"),
    Text("its process ended", "процесс, в котором выполнялась работа, завершился"),
    Text(
        "its process sent an unexpected message", "процесс, в котором выполнялась работа, прислал постороннее сообщение"
    ),
    Text(
        "its process sent data that is not a message of the sandbox",
        "вместо результатов проверки пришло постороннее сообщение",
    ),
    Text(
        "{name}: the result of the probe was malformed ({error})",
        "{name}: вместо результата пришло нечто иное ({error})",
    ),
    Text("at the end: replaced or left on: {what}", "в конце: заменено или оставлено включённым: {what}"),
    Text("{name}: replaced or left on: {what}", "{name}: заменено или оставлено включённым: {what}"),
    Text(
        "more than one notebook with answers: {taken} was graded, not {rest}",
        "тетрадей с ответами несколько: проверена {taken}, не проверены: {rest}",
    ),
    Text(
        "timestamp.txt holds no time, so nobody knows whether it was late",
        "в timestamp.txt нет времени, поэтому неизвестно, сдана ли работа в срок",
    ),
    Text(
        "no time of submission, so nobody knows whether it was late",
        "время сдачи не указано, поэтому неизвестно, сдана ли работа в срок",
    ),
    Text(
        "no notebook in {folder}: expected {expected}; there is {found}",
        "в {folder} нет тетради {expected}; есть {found}",
    ),
    Text("no notebook in {folder}: expected {expected}", "в {folder} нет тетради {expected}"),
    Text("{name} cannot be opened: it is a link", "{name} не открыть: это ссылка"),
    Text("{name} cannot be opened: {why}", "{name} не открыть: {why}"),
    Text("{name} is no regular file", "{name}: это не обычный файл"),
    Text("{name} has {size} MB; at most {most} MB are read", "{name}: {size} МБ, а читается не больше {most} МБ"),
    Text("{name} cannot be read: {why}", "{name} не прочитать: {why}"),
    Text("{name} is empty", "{name}: файл пуст"),
    Text(
        "{name} is no notebook: its JSON is nested too deeply",
        "{name}: это не тетрадь, вложенность JSON слишком велика",
    ),
    Text("{name} is no notebook: its JSON is no object", "{name}: это не тетрадь, JSON в ней не объект"),
    Text(
        "{name} is no notebook but a zip archive: unpack it into the student's folder",
        "{name}: это не тетрадь, а архив zip: распакуйте его в папку студента",
    ),
    Text(
        "{name} is no notebook: the file is cut off, so it was not saved or uploaded whole: ask the student for the "
        "whole file",
        "{name}: это не тетрадь, файл обрывается на полуслове: он сохранён или загружен не полностью, попросите "
        "студента прислать его целиком",
    ),
    Text("{name} is no notebook: {why}", "{name}: это не тетрадь, JSON не читается ({why})"),
    Text("{name} has no number of a notebook format; 4 is needed", "{name}: формат тетради не указан, нужен 4"),
    Text("{name} has notebook format {number}; 4 is needed", "{name}: формат тетради {number}, нужен 4"),
    Text("{name} has no list of cells", "{name}: нет списка ячеек"),
    Text(
        "{name} cannot be converted from notebook format {number}",
        "{name} не преобразовать из формата тетради {number}",
    ),
    Text(
        "{name} has {cells} cells with {count} characters: more than can be run",
        "{name}: слишком большая тетрадь, ячеек {cells}, знаков {count}",
    ),
    Text("its process could not be isolated: {why}", "её процесс не удалось изолировать: {why}"),
    Text("our error, please report it: {error}", "ошибка в самой системе, сообщите о ней: {error}"),
    Text("the gradebook cannot be written: {why}", "не удалось записать в журнал: {why}"),
]


def in_both_languages(reason: str) -> Text:
    """Return a reason in English and Russian. If the reason is unknown, both texts are the English one."""
    for text, pattern in _PATTERNS:
        found = pattern.fullmatch(reason)
        if found:
            return Text(reason, text.ru.format(**found.groupdict()))
    return Text(reason, reason)


def _pattern(template: str) -> re.Pattern[str]:
    """Return a regular expression for the sentences that can be formatted from `template`.

    The expression has a named group for each placeholder.
    """
    parts = string.Formatter().parse(template)
    return re.compile("".join(re.escape(fixed) + (f"(?P<{name}>.+?)" if name else "") for fixed, name, _, _ in parts),
                      re.DOTALL)  # fmt: skip


_PATTERNS = [(text, _pattern(text.en)) for text in REASONS]
