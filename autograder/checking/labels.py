"""Words for what probes count and list, in English and Russian."""

from __future__ import annotations

from dataclasses import dataclass

from ..language import Text


@dataclass(frozen=True)
class Entries:
    """Names for the entries of an observed list, and for their number.

    `each` has the place `{n}`, which counts from 1, or `{i}`, which counts from 0. It is a tuple of names if the
    entries have nothing in common. `count` is a noun that stands before a number, such as "steps". If `apart` is True,
    the entries are about inputs of the check's own, and a card does not show those of the case.
    """

    each: Text | tuple[Text, ...]
    count: Text
    apart: bool = False

    def name(self, index: int) -> Text:
        """Return the name of the entry at `index`, which counts from 0."""
        if isinstance(self.each, Text):
            return self.each.format(n=index + 1, i=index)
        return self.each[index] if index < len(self.each) else ANY_ENTRY.name(index)


ANY_ENTRY = Entries(Text("entry {n}", "элемент {n}"), Text("entries", "элементов"))
WEIGHTS_AFTER_STEPS = Entries(Text("weights after step {n}", "веса после шага {n}"), Text("steps", "шагов"))
OF_PARAMETERS = Entries(Text("parameter {n}", "параметр {n}"), Text("parameters", "параметров"))
GRADIENTS_OF_PARAMETERS = Entries(
    Text("gradient of parameter {n}", "градиент параметра {n}"), Text("gradients", "градиентов")
)
NAMES_OF_PARAMETERS = Entries(Text("name {n}", "имя {n}"), Text("names", "имён"))
DIRECTIONS_OF_PASSES = Entries(
    Text("direction of a gradient, number {n}", "направление градиента номер {n}"),
    Text("backward passes", "обратных проходов"),
)

PEAK = Text("Peak in bytes", "Пик, байт")
CALLS_AND_PASSES = Text("Calls and backward passes", "Вызовов и обратных проходов")
BYTES_IN_MEMORY = Text("Bytes in memory", "В памяти, байт")
ERROR = Text("Error, as a part of the largest entry", "Погрешность в долях наибольшего элемента")
LARGEST_TENSOR = Text("Elements of the largest new tensor", "Элементов в наибольшем новом тензоре")
BYTES_LEFT = Text("Bytes left", "Осталось, байт")
BYTES_KEPT = Text("Bytes kept", "Сохранено, байт")
BYTES_IN_FILES = Text("Bytes in files", "В файлах, байт")
BACKWARD_PASSES = Text("Backward passes", "Обратных проходов")
