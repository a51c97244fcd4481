import torch


class Value:
    """A tensor that remembers how it was made."""

    def __init__(self, data, inputs=(), rule=None, op=""):
        self.data, self.inputs, self.rule, self.op = data, inputs, rule, op
        self.grad, self.hooks = None, []  # the hooks wait for lesson 08

    def __add__(self, other):
        return record("+", self.data + other.data, self, other)

    def __mul__(self, other):
        return record("*", self.data * other.data, self, other)

    def __matmul__(self, other):
        return record("@", self.data @ other.data, self, other)

    def sum(self):
        return record("sum", self.data.sum(), self)

    def tanh(self):
        return record("tanh", self.data.tanh(), self)

    def backward(self):
        walk_nodes(self)


def record(op, data, *inputs):
    """The result of an operation, with its inputs and its rule."""

    def rule(gradient):
        parts = four_rules()[op](gradient, data, *(each.data for each in inputs))
        # an input that was broadcast gets the sum over its copies
        return tuple(part.sum_to_size(each.data.shape) for part, each in zip(parts, inputs))

    return Value(data, inputs, rule, op)
