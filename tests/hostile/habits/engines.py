"""Engines of gradients and optimizers that people write themselves."""

from __future__ import annotations

from .habit import Habit

ENGINES = [
    Habit(
        "micrograd's Value",
        """class Value:
    def __init__(self, data, parents=()):
        self.data, self.grad, self.parents, self._backward = data, 0.0, set(parents), lambda: None
    def __mul__(self, other):
        out = Value(self.data * other.data, (self, other))
        def back():
            self.grad += out.grad * other.data
            other.grad += out.grad * self.data
        out._backward = back
        return out
    def __repr__(self): return f"Value({self.data}, grad={self.grad})"
a, b = Value(2.0), Value(3.0)
c = a * b; c.grad = 1.0; c._backward(); a""",
        seen="karpathy/nn-zero-to-hero/lectures/micrograd/micrograd_lecture_first_half_roughly.ipynb",
    ),
    Habit(
        "a method put on Value later",
        """class Value:
    def __init__(self, data): self.data = data
def relu(self): return Value(max(0, self.data))
Value.relu = relu
Value.__radd__ = lambda self, other: Value(self.data + other)
print(Value(-1.0).relu().data, (1 + Value(2.0)).data)""",
        seen="karpathy/nn-zero-to-hero/lectures/micrograd/micrograd_lecture_first_half_roughly.ipynb",
    ),
    Habit(
        "a walk over one's own graph",
        """def trace(root):
    nodes, edges, todo = set(), set(), [root]
    while todo:
        node = todo.pop()
        if node in nodes: continue
        nodes.add(node)
        edges |= {(child, node) for child, _ in node.next_functions if child}
        todo += [child for child, _ in node.next_functions if child]
    return nodes, edges
x = torch.ones(1, requires_grad=True)
print(len(trace((x * x + x).grad_fn)[0]))""",
        seen="karpathy/nn-zero-to-hero/lectures/micrograd/micrograd_lecture_first_half_roughly.ipynb",
    ),
    Habit(
        "a topological order",
        """order, seen = [], set()
def visit(node):
    if node in seen: return
    seen.add(node)
    for child in getattr(node, 'parents', ()): visit(child)
    order.append(node)
visit(3)""",
        seen="karpathy/nn-zero-to-hero/lectures/micrograd/micrograd_lecture_first_half_roughly.ipynb",
    ),
    Habit(
        "a comparison with torch's gradient",
        """def cmp(name, mine, tensor):
    exact, near = bool((mine == tensor.grad).all()), torch.allclose(mine, tensor.grad)
    print(f'{name:8s} | exact: {exact} | near: {near} | off by {(mine - tensor.grad).abs().max().item()}')
t = torch.ones(2, requires_grad=True); (2 * t).sum().backward(); cmp('t', torch.full((2,), 2.0), t)""",
        seen="karpathy/nn-zero-to-hero/lectures/makemore/makemore_part4_backprop.ipynb",
    ),
    Habit(
        "a layer of one's own without Module",
        """class Linear:
    def __init__(self, inputs, outputs):
        self.weight, self.bias = torch.randn(inputs, outputs) / inputs**0.5, torch.zeros(outputs)
    def __call__(self, x):
        self.out = x @ self.weight + self.bias
        return self.out
    def parameters(self): return [self.weight, self.bias]
Linear(2, 3)(torch.ones(1, 2)).shape""",
        seen="karpathy/nn-zero-to-hero/lectures/makemore/makemore_part3_bn.ipynb",
    ),
    Habit(
        "parameters that are asked for gradients",
        """parameters = [torch.randn(2, 3), torch.randn(3)]
for p in parameters:
    p.requires_grad = True
for p in parameters:
    p.grad = None
print(sum(p.nelement() for p in parameters))""",
        seen="karpathy/nn-zero-to-hero/lectures/makemore/makemore_part2_mlp.ipynb",
    ),
    Habit(
        "a step without an optimizer",
        """w = torch.ones(2, requires_grad=True)
(w ** 2).sum().backward()
w.data += -0.1 * w.grad
w.grad.zero_()""",
        seen="karpathy/nn-zero-to-hero/lectures/makemore/makemore_part1_bigrams.ipynb",
    ),
    Habit(
        "gradients kept inside the graph",
        """x = torch.ones(2, requires_grad=True)
h = 2 * x
for t in [h]: t.retain_grad()
h.sum().backward(); h.grad""",
        seen="karpathy/nn-zero-to-hero/lectures/makemore/makemore_part3_bn.ipynb",
    ),
    Habit(
        "gradients kept by hooks in a dictionary",
        """grads = {}
def save_grad(name):
    def hook(grad): grads[name] = grad
    return hook
x = torch.ones(1, requires_grad=True); v = x * 3
v.register_hook(save_grad('v')); v.backward(); print(grads)""",
        seen="rasbt/deeplearning-models/pytorch_ipynb/mechanics/manual-gradients.ipynb",
    ),
    Habit(
        "a Function of one's own",
        """class MyMul(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b
    @staticmethod
    def backward(ctx, grad):
        a, b = ctx.saved_tensors
        return grad * b, grad * a
x = torch.ones(1, requires_grad=True); MyMul.apply(x, x).backward(); x.grad""",
        seen="Atcold/NYU-DLSP20/extra/b-custom_grads.ipynb",
    ),
    Habit(
        "layers with a backward of their own",
        """class Relu():
    def __call__(self, x):
        self.x, self.out = x, x.clamp_min(0.)
        return self.out
    def backward(self): self.x.g = self.out.g * (self.x > 0)
layer, x = Relu(), torch.ones(2)
layer(x).g = torch.ones(2); layer.backward(); x.g""",
        seen="fastai/course-v3/nbs/dl2/02_fully_connected.ipynb",
    ),
    Habit(
        "gradients stored in `.g`",
        """def lin_grad(x, out, w, b):
    w.g, b.g, x.g = x.t() @ out.g, out.g.sum(0), out.g @ w.t()
x, w, b = torch.ones(4, 2), torch.ones(2, 1), torch.zeros(1)
out = x @ w + b
out.g = torch.ones(4, 1)
lin_grad(x, out, w, b)""",
        seen="fastai/course22p2/nbs/03_backprop.ipynb",
    ),
    Habit(
        "sympy or torch for the derivative",
        """try:
    from sympy import symbols, diff
    x, y = symbols('x y')
    print(diff(x**2, x))
except ImportError:
    pass""",
        seen="fastai/course22p2/nbs/03_backprop.ipynb",
    ),
    Habit(
        "an optimizer of one's own",
        """class Optimizer():
    def __init__(self, params, lr=0.5): self.params, self.lr = list(params), lr
    def step(self):
        with torch.no_grad():
            for p in self.params: p -= p.grad * self.lr
    def zero_grad(self):
        for p in self.params: p.grad.data.zero_()
model = torch.nn.Linear(1, 1); opt = Optimizer(model.parameters())
model(torch.ones(1, 1)).sum().backward(); opt.step(); opt.zero_grad()""",
        seen="fastai/course-v3/nbs/dl2/03_minibatch_training.ipynb",
    ),
    Habit(
        "an optimizer that is a subclass",
        """class SGD(torch.optim.Optimizer):
    def __init__(self, params, lr): super().__init__(params, dict(lr=lr))
    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group['params']:
                if p.grad is not None: p.add_(p.grad, alpha=-group['lr'])
SGD([torch.ones(1, requires_grad=True)], 0.1).step()""",
        seen="d2l-ai/d2l-en/chapter_linear-regression/linear-regression-scratch.md",
    ),
    Habit(
        "second derivatives",
        """x = torch.tensor(3.0, requires_grad=True); f = x ** 3
dfdx = torch.autograd.grad(f, x, create_graph=True)[0]
d2fdx2 = torch.autograd.grad(dfdx, x)[0]
dfdx, d2fdx2""",
        seen="ageron/handson-mlp/extra_autodiff.ipynb",
    ),
    Habit(
        "a look at grad_fn's neighbours",
        """x = torch.ones(2, 2, requires_grad=True); y = x - 2
print(y.grad_fn, y.grad_fn.next_functions[0][0].variable is x, y.grad_fn.name())
dir(y.grad_fn)""",
        seen="Atcold/NYU-DLSP20/03-autograd_tutorial.ipynb",
    ),
    Habit(
        "the graph printed by next_functions",
        """def show(fn, depth=0):
    print('  ' * depth, fn)
    for u, _ in getattr(fn, 'next_functions', ()):
        if u is not None: show(u, depth + 1)
a = torch.ones(1, requires_grad=True); show((a * (a + 2)).grad_fn)""",
        seen="https://discuss.pytorch.org/t/in-the-grad-fn-i-find-a-next-functions-but-i-dont-understand-the-meaning-of-the-attribute/24463",
    ),
    Habit(
        "saved tensors in a picture of the graph",
        """x = torch.ones(2, requires_grad=True); fn = (x ** 2).grad_fn
for attr in dir(fn):
    if attr.startswith('_saved_'): print(attr, getattr(fn, attr))""",
        seen="szagoruyko/pytorchviz/torchviz/dot.py",
    ),
    Habit(
        "the graph freed, and the error printed",
        """x = torch.ones(1, requires_grad=True); y = x * x
y.backward()
try:
    y.backward()
except RuntimeError as e:
    print(e)""",
        seen="karpathy/nn-zero-to-hero/lectures/makemore/makemore_part3_bn.ipynb",
    ),
    Habit(
        "a leaf changed in place, and the error",
        """x = torch.ones(2, requires_grad=True)
try:
    x += 1
except RuntimeError as error:
    print(type(error).__name__, error)""",
        seen="patrickloeber/pytorchTutorial/03_autograd.py",
    ),
    Habit(
        "a gradient clipped by hooks",
        """model = torch.nn.Linear(2, 1); handles = []
for p in model.parameters():
    if p.requires_grad: handles.append(p.register_hook(lambda grad: torch.clamp(grad, -1, 1)))
model(torch.ones(1, 2)).sum().backward()
for handle in handles: handle.remove()""",
        seen="dvgodoy/PyTorchStepByStep/ChapterExtra.ipynb",
    ),
    Habit(
        "a numerical gradient",
        """import numpy as np
def numerical_gradient(f, x, h=1e-5):
    grad = np.zeros_like(x)
    for at in np.ndindex(x.shape):
        step = np.zeros_like(x); step[at] = h
        grad[at] = (f(x + step) - f(x - step)) / (2 * h)
    return grad
assert np.allclose(numerical_gradient(lambda v: (v ** 2).sum(), np.ones(2)), 2.0, rtol=1e-3)""",
        seen="yandexdataschool/Practical_DL/resources/_under_construction/week01_backprop/backprop.ipynb",
    ),
]
