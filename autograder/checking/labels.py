"""Words for what probes count and list, in English and Russian."""

from __future__ import annotations

from ..language import Text
from ..messages.entries import Entries

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

COUNTED_IN_TORCH = (PEAK, BYTES_IN_MEMORY, BYTES_LEFT, BYTES_KEPT)  # what NumPy keeps is not seen
