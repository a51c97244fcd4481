# %% program="as_many_vectors_as_outputs" entry="another_number_of_v"
import torch
x = torch.rand(3, requires_grad=True)
torch.autograd.backward([x.sum(), x.mean()], [torch.tensor(1.0)])
# %% program="backward_inside_a_compiled_function" entry="backward_inside_a_compiled_function"
import torch
w = torch.rand(3, requires_grad=True)
@torch.compile(backend="aot_eager", fullgraph=True)
def step(x):
    loss = (w * x).sum()
    loss.backward()
    return loss
step(torch.rand(3))
# %% program="backward_inside_func" entry="tracking_inside_a_transform"
import torch
def f(t):
    loss = t.sum()
    loss.backward()
    return loss
torch.func.grad(f)(torch.rand(3))
# %% program="backward_of_a_numpy_number" entry="backward_of_a_number"
import numpy as np
import torch
x = torch.rand(3, requires_grad=True)
np.float64(x.sum().item()).backward()
# %% program="checkpoint_of_a_constant_input" entry="old_checkpoint_without_a_graph"
import torch
from torch.utils.checkpoint import checkpoint
net = torch.nn.Linear(2, 2)
checkpoint(net, torch.rand(1, 2), use_reentrant=True).sum().backward()
# %% program="checkpoint_that_empties_its_list" entry="only_the_second_run_fails"
import torch
from torch.utils.checkpoint import checkpoint
x = torch.rand(2, 3, requires_grad=True)
checkpoint(lambda xs: xs.pop(0).exp().sin(), [x], use_reentrant=False).sum().backward()
# %% program="closure_returns_nothing" entry="closure_returns_nothing"
import torch
w = torch.rand(2, requires_grad=True)
optimizer = torch.optim.LBFGS([w])
def closure():
    optimizer.zero_grad()
    (w**2).sum().backward()
optimizer.step(closure)
# %% program="collective_in_the_forward_pass" entry="collective_in_the_forward_pass"
import tempfile
import torch
import torch.distributed as dist
dist.init_process_group("gloo", init_method=f"file://{tempfile.mktemp()}", rank=0, world_size=1)
x = torch.rand(3, requires_grad=True)
y = x * 2
dist.all_reduce(y)
y.sum().backward()
# %% program="compiled_backward_under_vmap" entry="compiled_backward_under_vmap"
import torch
square = torch.compile(lambda x: x**2, backend="aot_eager")
x = torch.rand(5, requires_grad=True)
y = square(x)
torch.vmap(lambda v: torch.autograd.grad(y, x, v))(torch.eye(5))
# %% program="compiled_twice" entry="compiled_twice"
import torch
f = torch.compile(lambda x: (x**3).sum(), backend="aot_eager")
x = torch.rand(2, requires_grad=True)
(g,) = torch.autograd.grad(f(x), x, create_graph=True)
g.sum().backward()
# %% program="features_written_through_data" entry="graph_cut"
import torch
from torch import nn
image, text = nn.Linear(3, 4), nn.Embedding(5, 4)
text.weight.requires_grad_(False)
hidden = text(torch.tensor([0, 1, 2]))
hidden.data[1] = image(torch.rand(3))
hidden.sum().backward()
# %% program="flex_attention_on_the_cpu" entry="flex_attention_on_the_cpu"
import torch
from torch.nn.attention.flex_attention import flex_attention
q, k, v = (torch.rand(1, 1, 128, 16, requires_grad=True) for _ in range(3))
flex_attention(q, k, v).sum().backward()
# %% program="forward_mode_not_implemented" entry="no_forward_mode"
import torch
torch.func.jvp(lambda x: torch.cdist(x, x), (torch.rand(3, 2),), (torch.rand(3, 2),))
# %% program="generator_given_to_grad" entry="transform_of_no_tensor"
import torch
from torch import nn
from torch.func import functional_call, grad
net = nn.Linear(2, 1)
x = torch.rand(1, 2)
grad(lambda p: functional_call(net, p, (x,)).sum())(net.named_parameters())
# %% program="gradient_is_a_tuple" entry="tuple_of_gradients"
import torch
x = torch.rand(3, requires_grad=True)
x = x - 0.1 * torch.autograd.grad(x.sum(), x)
# %% program="gradient_on_another_device" entry="gradient_on_another_device"
import torch
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, grad):
        return torch.empty(3, device="meta")
Double.apply(torch.rand(3, requires_grad=True)).sum().backward()
# %% program="integers_from_an_unpack_hook" entry="integers_from_an_unpack_hook"
import torch
x = torch.rand(4, requires_grad=True)
with torch.autograd.graph.saved_tensors_hooks(lambda t: (t * 127).to(torch.int8), lambda t: t):
    y = x * x
y.sum().backward()
# %% program="list_given_to_a_function" entry="list_given_to_a_function"
import torch
class Total(torch.autograd.Function):
    @staticmethod
    def forward(ctx, tensors):
        return sum(tensors)
    @staticmethod
    def backward(ctx, grad):
        return [grad, grad]
a, b = torch.rand(3, requires_grad=True), torch.rand(3, requires_grad=True)
Total.apply([a, b]).sum().backward()
# %% program="loss_from_argmax" entry="no_derivative_in_the_loss"
import torch
net = torch.nn.Linear(2, 3)
(net(torch.rand(4, 2)).argmax(1) == 0).float().mean().backward()
# %% program="mark_dirty_on_a_leaf" entry="leaf_marked_dirty"
import torch
class AddOne(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x.add_(1)
        ctx.mark_dirty(x)
        return x
    @staticmethod
    def backward(ctx, grad):
        return grad
AddOne.apply(torch.rand(3, requires_grad=True))
# %% program="module_hook_returns_too_many" entry="module_hook_returns_too_many"
import torch
net = torch.nn.Linear(2, 1)
net.register_full_backward_hook(lambda module, into, out: (into[0], into[0]))
net(torch.rand(2, requires_grad=True)).sum().backward()
# %% program="no_derivative_at_all" entry="no_derivative_at_all"
import torch
x = torch.randn(3, requires_grad=True)
torch.heaviside(x, torch.tensor(0.0)).sum().backward()
# %% program="operator_without_fake" entry="operator_without_fake"
import torch
@torch.library.custom_op("turn4::double", mutates_args=())
def double(x: torch.Tensor) -> torch.Tensor:
    return x * 2
double.register_autograd(lambda ctx, grad: grad * 2)
compiled = torch.compile(lambda x: double(x).sum(), backend="aot_eager", fullgraph=True)
compiled(torch.rand(3, requires_grad=True)).backward()
# %% program="parameter_replaced_by_a_tensor" entry="parameter_replaced_by_a_tensor"
import torch
net = torch.nn.Linear(2, 1)
net.weight = net.weight * 0.9
# %% program="phase_of_complex_singular_vectors" entry="phase_of_a_vector"
import torch
a = torch.randn(3, 3, dtype=torch.complex64, requires_grad=True)
u, s, v = torch.linalg.svd(a)
u.real.sum().backward()
# %% program="register_autograd_under_func" entry="operator_under_func"
import torch
@torch.library.custom_op("turn4::scale", mutates_args=())
def scale(x: torch.Tensor, factor: float) -> torch.Tensor:
    return x * factor
def save(ctx, inputs, output):
    ctx.factor = inputs[1]
scale.register_autograd(lambda ctx, grad: (grad * ctx.factor, None), setup_context=save)
torch.func.grad(lambda x: scale(x, 2.0).sum())(torch.rand(3))
# %% program="row_of_a_leaf" entry="derived_from_a_leaf"
import torch
w = torch.rand(4, 3, requires_grad=True)
loss = (w**2).sum()
torch.autograd.grad(loss, w[0])
# %% program="scaler_steps_twice" entry="scaler_out_of_order"
import torch
w = torch.rand(2, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=1.0)
scaler = torch.amp.GradScaler("cpu")
scaler.scale(w.sum()).backward()
scaler.step(optimizer)
scaler.step(optimizer)
# %% program="second_derivative_of_detached_saves" entry="second_derivative_of_detached_saves"
import torch
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.x = x.detach()
        return x**2
    @staticmethod
    def backward(ctx, grad):
        return 2 * ctx.x * grad
x = torch.tensor(3.0, requires_grad=True)
(slope,) = torch.autograd.grad(Square.apply(x), x, create_graph=True)
slope.backward()
# %% program="second_derivative_without_create_graph" entry="gradient_without_create_graph"
import torch
x = torch.rand(2, requires_grad=True)
(g,) = torch.autograd.grad((x**3).sum(), x)
g.sum().backward()
# %% program="selective_checkpoint_changed_in_place" entry="selective_checkpoint_changed_in_place"
from functools import partial
import torch
from torch.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts
def block(x, w):
    h = x @ w
    h.relu_()
    return h.sin()
x, w = torch.rand(3, 3, requires_grad=True), torch.rand(3, 3, requires_grad=True)
keep = partial(create_selective_checkpoint_contexts, [torch.ops.aten.mm.default])
checkpoint(block, x, w, use_reentrant=False, context_fn=keep).sum().backward()
# %% program="setup_context_with_separate_inputs" entry="arguments_of_setup_context"
import torch
class Product(torch.autograd.Function):
    @staticmethod
    def forward(x, y):
        return x * y
    @staticmethod
    def setup_context(ctx, x, y, output):
        ctx.save_for_backward(x, y)
    @staticmethod
    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        return grad * y, grad * x
Product.apply(torch.rand(2, requires_grad=True), torch.rand(2)).sum().backward()
# %% program="sparse_adam_with_dense_gradients" entry="dense_gradients"
import torch
p = torch.rand(3, requires_grad=True)
optimizer = torch.optim.SparseAdam([p])
p.sum().backward()
optimizer.step()
# %% program="tensor_and_distributed_tensor" entry="tensor_and_distributed_tensor"
import tempfile
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import init_device_mesh
dist.init_process_group("gloo", init_method=f"file://{tempfile.mktemp()}", rank=0, world_size=1)
net = nn.Linear(4, 4)
fully_shard(net, mesh=init_device_mesh("cpu", (1,)))
nn.functional.linear(torch.rand(2, 4), net.weight).sum().backward()
# %% program="tensor_of_tensors" entry="tensor_of_vectors"
import torch
x = torch.rand(3, requires_grad=True)
torch.tensor([x * 2, x * 3]).sum().backward()
# %% program="two_rules_for_vmap" entry="two_rules_for_vmap"
import torch
class Square(torch.autograd.Function):
    generate_vmap_rule = True
    @staticmethod
    def forward(x):
        return x * x
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
    @staticmethod
    def backward(ctx, grad):
        return 2 * grad * ctx.saved_tensors[0]
    @staticmethod
    def vmap(info, in_dims, x):
        return Square.apply(x), in_dims[0]
torch.vmap(Square.apply)(torch.rand(3, 2))
# %% program="update_in_a_function" entry="update_of_a_local_name"
import torch
w = torch.rand(2, requires_grad=True)
@torch.no_grad()
def update():
    w -= 0.1
update()
# %% program="vector_as_a_list" entry="v_that_is_a_list"
import torch
x = torch.rand(3, requires_grad=True)
(x * 2).backward([1.0, 1.0, 1.0])
# %% program="view_from_a_function_changed" entry="view_of_a_function_changed"
import torch
class Flat(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view(-1)
    @staticmethod
    def backward(ctx, grad):
        return grad.view(1, 3)
y = Flat.apply(torch.rand(1, 3, requires_grad=True) * 1)
y.add_(1)
# %% program="view_of_a_gradient" entry="view_of_a_gradient"
import torch
class Flat(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, grad):
        return grad.view(-1).view(3, 4) * 2
x = torch.rand(3, 4, requires_grad=True)
Flat.apply(x).t().contiguous().sin().sum().backward()
# %% program="vmap_over_a_function" entry="no_vmap_rule"
import torch
class Double(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x * 2
    @staticmethod
    def setup_context(ctx, inputs, output):
        pass
    @staticmethod
    def backward(ctx, grad):
        return grad * 2
torch.vmap(Double.apply)(torch.rand(3, 2))
# %% program="parameter_taken_for_its_gradient" entry=""
import torch
w = torch.rand(3, requires_grad=True)
total = torch.zeros(3)
def collect(grad):
    total.add_(grad.detach())
w.register_post_accumulate_grad_hook(collect)
(w * 2).sum().backward()
