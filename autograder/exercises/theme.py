"""Themes of mistakes, with their titles in the class report."""

from __future__ import annotations

from enum import StrEnum

from ..language import Text


class Theme(StrEnum):
    """The subject of a misconception, or why it has none."""

    ACCUMULATION = "accumulation"  # what a gradient buffer held before
    SCALING = "scaling"  # mean or sum, a factor too many or too few
    RECORDING = "recording"  # what autograd records, and what is cut off
    GRAPH_LIFE = "graph_life"  # how long a graph and its saved tensors live
    IN_PLACE = "in_place"  # changes in place, aliases, shared memory
    DERIVATIVE = "derivative"  # the derivative itself is wrong
    AXES = "axes"  # shapes, transposes, broadcasting
    PRECISION = "precision"  # dtypes, rounding, NaN
    DEVICE = "device"  # where a tensor lies
    ORDER = "order"  # right steps at a wrong time
    COST = "cost"  # a right result with more work or memory than allowed
    STATE = "state"  # a mode, hook or setting left behind
    RETURN = "return"  # a function does not return its result
    TEST = "test"  # a learner's test accepts what is wrong, or refuses what is right
    MISSING = "missing"  # no theme: a part of the task is not done
    OWN = "own"  # no theme: a misconception about one exercise alone
    SLIP = "slip"  # no theme: a slip, unrelated to any concept

    @property
    def heading(self) -> Text | None:
        """The heading in the class report. MISSING, OWN and SLIP have none: such mistakes share no theme."""
        return _TITLES.get(self)


_TITLES = {
    Theme.ACCUMULATION: Text("gradients add up in `.grad`", "градиенты накапливаются в `.grad`"),
    Theme.SCALING: Text("mean or sum: by what to divide", "среднее или сумма: на что делить"),
    Theme.RECORDING: Text("what autograd records, and what is cut off", "что записывает autograd и что отсоединено"),
    Theme.GRAPH_LIFE: Text("how long a graph lives", "сколько живёт граф"),
    Theme.IN_PLACE: Text("changes in place, and names for one memory", "изменения на месте и общая память"),
    Theme.DERIVATIVE: Text("the derivative itself", "сама производная"),
    Theme.AXES: Text("shapes and axes", "формы и оси"),
    Theme.PRECISION: Text("rounding, types of numbers, NaN", "округление, типы чисел, NaN"),
    Theme.DEVICE: Text("on which device a tensor lies", "на каком устройстве лежит тензор"),
    Theme.ORDER: Text("the order of the steps", "порядок действий"),
    Theme.COST: Text("more work or memory than needed", "лишняя работа или лишняя память"),
    Theme.STATE: Text("what code leaves behind", "что код оставляет после себя"),
    Theme.RETURN: Text("a function must return its result", "функция должна вернуть результат"),
    Theme.TEST: Text("what a test accepts and refuses", "что тест принимает и что отвергает"),
}
