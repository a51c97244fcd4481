"""Explanations of torch's errors and warnings, each beside the error itself, raised by real torch."""

import copy
import warnings

import numpy as np
import pytest
import torch
from torch import distributed
from torch.autograd.function import once_differentiable
from torch.utils.checkpoint import checkpoint

from autograder.learner.tracebacks import as_html, as_text
from autograder.messages.torch_errors import EXPLANATIONS, explain


def leaf(n=2):
    return torch.rand(n, requires_grad=True)


def inference_tensor():
    with torch.inference_mode():
        return torch.rand(2)


def function(forward=lambda ctx, x: x * 1, backward=lambda ctx, grad: grad, **others):
    """A custom Function made of these parts; a part that is None is left out."""
    parts = {"forward": forward, "backward": backward, **others}
    methods = {name: staticmethod(part) for name, part in parts.items() if part}
    return type("Own", (torch.autograd.Function,), methods)


def recomputed(first, then):
    runs = iter([first, then])
    checkpoint(lambda x: next(runs)(x), leaf(), use_reentrant=False).sum().backward()


def hooked(hook):
    x = leaf()
    x.register_hook(hook)
    x.sum().backward()


def warned(program):
    """Let a warning of torch end a program, as an error does."""
    torch.set_warn_always(True)  # some are given once in a process
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            program()
    finally:
        torch.set_warn_always(False)


# Errors of one expression, by lesson.
EXPRESSIONS = {
    "01_leaf_tensors": {
        "nothing_requires_grad": lambda: torch.rand(2).sum().backward(),
        "gradient_of_a_constant": lambda: torch.autograd.grad(leaf().sum(), torch.rand(2)),
        "integers_with_requires_grad": lambda: torch.tensor([1, 2], requires_grad=True),
        "integers_requires_grad_": lambda: torch.tensor([1, 2]).requires_grad_(),
        "integer_parameter": lambda: torch.nn.Parameter(torch.tensor([1])),
        "optimizing_a_non_leaf": lambda: torch.optim.SGD([leaf() * 2], lr=1),
        "tracked_tensor_to_numpy": lambda: leaf().numpy(),
        "array_times_tracked_tensor": lambda: np.ones(2) * leaf(),
        "deepcopy_of_a_non_leaf": lambda: copy.deepcopy(leaf() * 1),
        "grad_of_a_non_leaf": lambda: warned(lambda: (leaf() * 2).grad),
        "old_constructor": lambda: torch.FloatTensor(3, 4, requires_grad=True),
    },
    "02_graph_and_backward": {
        "gradient_of_something_unused": lambda: torch.autograd.grad(leaf().sum(), leaf()),
        "backward_of_a_number": lambda: leaf().sum().item().backward(),
    },
    "03_gradient_accumulation": {
        "zeroing_none": lambda: leaf().grad.zero_(),
        "stepping_with_none": lambda: 0.1 * leaf().grad,
    },
    "04_jacobian_products": {
        "backward_of_a_vector": lambda: (leaf() * 2).backward(),
        "v_of_the_inputs_shape": lambda: (leaf() * 2).backward(torch.ones(3)),
        "v_of_another_size": lambda: torch.autograd.functional.vjp(lambda x: x * 2, torch.rand(2), torch.rand(3)),
        "no_v_for_a_vector": lambda: torch.autograd.functional.vjp(lambda x: x * 2, torch.rand(2)),
        "tangent_of_another_size": lambda: torch.func.jvp(torch.sin, (torch.rand(2),), (torch.rand(3),)),
        "func_grad_of_a_vector": lambda: torch.func.grad(lambda x: x * 2)(torch.rand(2)),
        "hessian_of_a_vector": lambda: torch.autograd.functional.hessian(lambda x: x * 2, torch.rand(2)),
        "item_under_vmap": lambda: torch.vmap(lambda x: x * x.item())(torch.rand(3)),
        "if_under_vmap": lambda: torch.vmap(lambda x: x if x > 0 else -x)(torch.rand(3)),
        "chance_under_vmap": lambda: torch.vmap(lambda x: x + torch.rand(1))(torch.rand(3)),
        "requires_grad_under_func": lambda: torch.func.grad(lambda x: x.requires_grad_().sum())(torch.rand(2)),
        "nothing_to_check": lambda: torch.autograd.gradcheck(torch.sin, torch.rand(2, dtype=torch.float64)),
    },
    "05_grad_modes_and_in_place": {
        "saving_an_inference_tensor": lambda: leaf() * inference_tensor(),
        "inference_tensor_requires_grad": lambda: inference_tensor().requires_grad_(),
        "inference_tensor_in_place": lambda: inference_tensor().add_(1),
        "resizing": lambda: leaf().resize_(3),
        "detaching_a_view": lambda: (leaf() * 1)[:1].detach_(),
        "writing_into_out": lambda: torch.add(leaf(), leaf(), out=torch.empty(2)),
    },
    "06_saved_tensors": {
        "checkpoint_without_a_graph": lambda: warned(
            lambda: checkpoint(torch.nn.Linear(2, 2), torch.rand(2), use_reentrant=True)
        ),
        "recomputing_fewer": lambda: recomputed(lambda x: x.exp().sin(), lambda x: x.sin()),
        "recomputing_another_shape": lambda: recomputed(lambda x: x * x, lambda x: x[:1] * x[:1]),
    },
    "07_custom_functions": {
        "methods_that_are_not_static": lambda: type(
            "Old", (torch.autograd.Function,), {"forward": lambda self, x: x}
        )()(leaf()),
        "one_gradient_for_two_inputs": lambda: (
            function(forward=lambda ctx, x, k: x * k).apply(leaf(), 2).sum().backward()
        ),
        "gradient_of_another_shape": lambda: (
            function(backward=lambda ctx, grad: torch.ones(3)).apply(leaf()).sum().backward()
        ),
        "gradient_that_is_a_number": lambda: function(backward=lambda ctx, grad: 2.0).apply(leaf()).sum().backward(),
        "saving_a_number": lambda: function(forward=lambda ctx, x: ctx.save_for_backward(x, 2.0)).apply(leaf()),
        "no_backward": lambda: function(backward=None).apply(leaf()).sum().backward(),
    },
    "08_gradient_hooks": {
        "hook_on_a_constant": lambda: torch.rand(2).register_hook(print),
        "retain_grad_on_a_constant": lambda: torch.rand(2).retain_grad(),
        "hook_that_changes_the_size": lambda: hooked(lambda grad: grad.sum()),
        "hook_that_changes_the_dtype": lambda: hooked(lambda grad: grad.double()),
        "hook_that_returns_a_number": lambda: hooked(lambda grad: 1.0),
        "post_accumulate_hook_on_a_non_leaf": lambda: (leaf() * 2).register_post_accumulate_grad_hook(print),
        "parameter_that_is_ready_twice": lambda: alone(SharedUnderCheckpoints(), passes=1),
    },
    "10_higher_order": {
        "selection_under_vmap": lambda: torch.func.vmap(lambda x: x[x > 0].sum())(torch.rand(3, 2)),
        "grad_that_holds_its_graph": lambda: warned(lambda: leaf().exp().sum().backward(create_graph=True)),
    },
}
RAISERS = {name: (raiser, lesson) for lesson, each in EXPRESSIONS.items() for name, raiser in each.items()}


def raises(lesson):
    def register(raiser):
        RAISERS[raiser.__name__] = (raiser, lesson)
        return raiser

    return register


@raises("01_leaf_tensors")
def switching_a_non_leaf_off():
    (leaf() * 2).requires_grad = False


@raises("02_graph_and_backward")
def second_backward():
    x = leaf()
    y = (x * x).sum()
    y.backward()
    y.backward()


@raises("02_graph_and_backward")
def reading_what_was_freed():
    y = leaf().exp()
    node = y.grad_fn
    y.sum().backward()
    assert node._saved_result is not None


@raises("02_graph_and_backward")
def nan_under_anomaly_detection():
    with torch.autograd.detect_anomaly(check_nan=True):
        (torch.zeros(1, requires_grad=True).sqrt() * 0).sum().backward()


@raises("02_graph_and_backward")
def node_of_a_leaf():
    assert leaf().grad_fn.next_functions


@raises("03_gradient_accumulation")
def unscaling_twice():
    p, scaler = leaf(), torch.amp.GradScaler("cpu")
    optimizer = torch.optim.SGD([p], lr=1)
    scaler.scale(p.sum()).backward()
    scaler.unscale_(optimizer)
    scaler.unscale_(optimizer)


@raises("03_gradient_accumulation")
def stepping_without_backward():
    p, scaler = leaf(), torch.amp.GradScaler("cpu")
    scaler.scale(p.sum())
    scaler.step(torch.optim.SGD([p], lr=1))


@raises("03_gradient_accumulation")
def grad_of_another_size():
    leaf().grad = torch.ones(3)


@raises("03_gradient_accumulation")
def grad_of_another_dtype():
    leaf().grad = torch.ones(2, dtype=torch.float64)


@raises("03_gradient_accumulation")
def grad_that_is_a_number():
    leaf().grad = 1.0


@raises("04_jacobian_products")
def wrong_derivative():
    doubles = function(forward=lambda ctx, x: x * 2)
    torch.autograd.gradcheck(doubles.apply, torch.rand(2, dtype=torch.float64, requires_grad=True))


@raises("05_grad_modes_and_in_place")
def leaf_in_place():
    x = leaf()
    x += 1


@raises("05_grad_modes_and_in_place")
def part_of_a_leaf_in_place():
    x = leaf()
    x[0] = 1


@raises("05_grad_modes_and_in_place")
def saved_value_overwritten():
    y = leaf().exp()
    y += 1
    y.sum().backward()


@raises("05_grad_modes_and_in_place")
def step_before_backward():
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1))
    loss = model(torch.rand(1, 2)).sum()
    loss.backward(retain_graph=True)
    torch.optim.SGD(model.parameters(), lr=1).step()
    loss.backward()


@raises("05_grad_modes_and_in_place")
def one_of_many_views():
    first, _ = (leaf() * 1).unbind()
    first.mul_(2)


@raises("05_grad_modes_and_in_place")
def one_of_a_split():
    first, _ = (leaf() * 1).split(1)
    first += 1


@raises("05_grad_modes_and_in_place")
def view_from_no_grad():
    x = leaf() * 1
    with torch.no_grad():
        view = x[:1]
    view.mul_(2)


@raises("06_saved_tensors")
def packing_in_place():
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.mul_(2), lambda t: t):
        (leaf() * 1).exp()


@raises("06_saved_tensors")
def unpacking_a_number():
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: 1):
        y = leaf().exp()
    y.sum().backward()


@raises("06_saved_tensors")
def hooks_twice():
    y = leaf().exp()  # torch crashes later when a saved tensor with hooks outlives its graph
    saved = y.grad_fn._raw_saved_result
    saved.register_hooks(lambda t: t, lambda t: t)
    saved.register_hooks(lambda t: t, lambda t: t)


@raises("07_custom_functions")
def no_jvp():
    with torch.autograd.forward_ad.dual_level():
        function().apply(torch.autograd.forward_ad.make_dual(torch.rand(2), torch.ones(2)))


@raises("07_custom_functions")
def no_setup_context():
    own = function()
    torch.func.grad(lambda x: own.apply(x).sum())(torch.rand(2))


@raises("07_custom_functions")
def dirty_but_not_returned():
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x * 2

    function(forward=forward).apply(leaf() * 1)


@raises("07_custom_functions")
def twice_through_once_differentiable():
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    own, x = function(forward, once_differentiable(lambda ctx, grad: 2 * grad * ctx.saved_tensors[0])), leaf()
    (first,) = torch.autograd.grad(own.apply(x).pow(2).sum(), x, create_graph=True)
    first.sum().backward()


@raises("10_higher_order")
def second_derivative_of_fused_attention():
    q = torch.rand(1, 2, 3, 4, requires_grad=True)
    y = torch.nn.functional.scaled_dot_product_attention(q, q, q)
    (first,) = torch.autograd.grad(y.sum(), q, create_graph=True)
    first.sum().backward()


@raises("10_higher_order")
def second_derivative_of_embedding_bags():
    table = torch.rand(3, 4, requires_grad=True)
    bags = torch.nn.functional.embedding_bag(torch.tensor([[0, 1]]), table) ** 2
    (first,) = torch.autograd.grad(bags.sum(), table, create_graph=True)
    first.sum().backward()


@raises("10_higher_order")
def write_under_vmap():
    def write(x):
        pair = torch.zeros(2)
        pair[0] = x
        return pair

    torch.func.vmap(write)(torch.rand(3))


@raises("10_higher_order")
def batch_norm_under_vmap():
    norm = torch.nn.BatchNorm1d(2)
    torch.func.vmap(lambda x: norm(torch.stack([x, -x])))(torch.rand(3, 2))


@raises("10_higher_order")
def batch_norm_under_grad():
    norm = torch.nn.BatchNorm1d(2)
    torch.func.grad(lambda x: norm(x).sum())(torch.rand(3, 2))


@raises("10_higher_order")
def forward_mode_over_a_loss():
    slope = torch.func.grad(lambda w: torch.nn.functional.mse_loss(w, torch.rand(2)))
    torch.func.jvp(slope, (torch.rand(2),), (torch.rand(2),))


@raises("10_higher_order")
def complex_gradient_of_a_real_input():
    def backward(ctx, grad):
        return grad * 1j

    function(forward=lambda ctx, x: x * 1j, backward=backward).apply(leaf()).abs().sum().backward()


@raises("10_higher_order")
def adam_and_a_sparse_gradient():
    table = torch.nn.Embedding(3, 2, sparse=True)
    table(torch.tensor([1])).sum().backward()
    torch.optim.Adam(table.parameters()).step()


@raises("11_capstones")
def unscaling_half_weights():
    p, scaler = torch.rand(2).half().requires_grad_(), torch.amp.GradScaler("cpu")
    scaler.scale(p.sum()).backward()
    scaler.unscale_(torch.optim.SGD([p], lr=1))


@raises("11_capstones")
def checkpoint_of_a_frozen_block():
    block = torch.nn.Linear(2, 2).requires_grad_(False)
    checkpoint(lambda x, _: block(x), torch.rand(2), leaf(), use_reentrant=True).sum().backward()


@raises("08_gradient_hooks")
def full_backward_hook_before_an_in_place_layer():
    net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU(inplace=True))
    net[0].register_full_backward_hook(lambda *_: None)
    net(torch.rand(1, 2))


@raises("08_gradient_hooks")
def two_kinds_of_backward_hooks():
    layer = torch.nn.Linear(2, 2)
    layer.register_full_backward_hook(lambda *_: None)
    layer.register_backward_hook(lambda *_: None)


def alone(module, passes):
    """Run backward passes of a model under `DistributedDataParallel` in a group of one process."""
    distributed.init_process_group("gloo", store=distributed.HashStore(), rank=0, world_size=1)
    try:
        model = torch.nn.parallel.DistributedDataParallel(module)
        for _ in range(passes):
            model(torch.rand(1, 2)).sum().backward()
    finally:
        distributed.destroy_process_group()


class SharedUnderCheckpoints(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.layer, self.unused = (torch.nn.Linear(2, 2) for _ in range(3))
        self.old = True

    def forward(self, x):
        x = self.first(x)
        for _ in range(2):
            x = checkpoint(self.layer, x, use_reentrant=self.old)
        return x


@raises("08_gradient_hooks")
def parameter_that_a_distributed_pass_does_not_use():
    module = SharedUnderCheckpoints()
    module.old = False
    alone(module, passes=2)


def raised_text(raiser):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns before some of these errors
        try:
            raiser()
        except Exception as error:
            return str(error)
    raise AssertionError("it raised nothing")


@pytest.mark.parametrize("name", RAISERS)
def test_torch_really_says_so(name):
    raiser, lesson = RAISERS[name]
    found = explain(raised_text(raiser))
    assert found is not None
    assert found.lesson == lesson


def test_no_explanation_without_a_real_error():
    explained = {id(explain(raised_text(raiser))) for raiser, _ in RAISERS.values()}
    assert [each.pattern.pattern for each in EXPLANATIONS if id(each) not in explained] == []


def test_other_errors_are_left_alone():
    for error in ("division by zero", "name 'x' is not defined", "'NoneType' object has no attribute 'foo'", ""):
        assert explain(error) is None


def test_explanations_exist_in_both_languages():
    found = explain(raised_text(second_backward))
    assert "retain_graph=True" in as_text(found, "en")
    assert "02_graph_and_backward" in as_text(found, "ru")
    assert as_text(found, None) == as_text(found, "en") + "\n" + as_text(found, "ru")
    assert '<div lang="ru">' in as_html(found, "ru")
    assert "<code>retain_graph=True</code>" in as_html(found, "ru")
