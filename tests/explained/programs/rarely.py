# %% program="from_numpy_with_requires_grad" entry="conversion_with_requires_grad"
torch.from_numpy(np.ones(2), requires_grad=True)
# %% program="requires_grad_that_is_a_string" entry="flag_that_is_no_bool"
torch.rand(2).requires_grad_("True")
# %% program="grad_fn_set" entry="read_only_attribute"
x = leaf() * 1
x.grad_fn = None
# %% program="cut_by_dlpack" entry="tracked_tensor_to_numpy"
np.from_dlpack(leaf())
# %% program="asarray" entry="asarray_of_a_tracked_tensor" since="2.13"
torch.asarray(leaf())
# %% program="norm_of_none_grad" entry="no_backward_yet"
torch.norm(leaf().grad)
# %% program="backward_of_a_list" entry="backward_of_several"
[leaf().sum(), leaf().sum()].backward()
# %% program="no_derivative_igamma" entry="no_derivative_at_all"
torch.special.gammainc(leaf(), torch.rand(2)).sum().backward()
# %% program="wrong_number_of_v" entry="another_number_of_v"
torch.autograd.backward([leaf(), leaf()], [torch.ones(2)])
# %% program="none_grads_stacked" entry="no_backward_yet"
torch.stack([leaf().grad, torch.ones(2)])
# %% program="none_grad_added_in_place" entry="no_backward_yet"
w = leaf()
w.data.sub_(w.grad)
# %% program="none_grad_compared" entry="no_backward_yet"
leaf().grad > 0
# %% program="minus_none_grad" entry="no_backward_yet"
-leaf().grad
# %% program="parameter_in_two_groups" entry="parameter_twice"
w = leaf()
torch.optim.SGD([{"params": [w]}, {"params": [w]}], lr=0.1)
# %% program="grad_dtype_after_backward" entry="grad_dtype"
w = leaf()
w.sum().backward()
w.grad_dtype = torch.float64
# %% program="scaler_update_without_step" entry="update_without_step"
w, scaler = leaf(), torch.amp.GradScaler("cpu")
scaler.scale(w.sum()).backward()
scaler.update()
# %% program="none_grad_formatted" entry="none_for_a_gradient"
f"{leaf(1).grad:.2f}"
# %% program="float_of_none_grad" entry="no_backward_yet"
float(leaf(1).grad)
# %% program="none_grad_called" entry="none_grad_called"
leaf().grad()
# %% program="scaler_with_a_closure" entry="scaler_with_a_closure"
w, scaler = leaf(), torch.amp.GradScaler("cpu")
scaler.scale(w.sum()).backward()
scaler.step(torch.optim.SGD([w], lr=0.1), closure=lambda: w.sum())
# %% program="group_that_is_no_dict" entry="group_that_is_no_dict"
torch.optim.SGD([leaf()], lr=0.1).add_param_group([leaf()])
# %% program="gradcheck_output_that_is_a_number" entry="gradcheck_of_a_number"
gradcheck(lambda x: x.sum().item(), leaf(dtype=torch.float64))
# %% program="jacobian_strict_unused" entry="strict_mode"
functional.jacobian(lambda x, y: y * 2, (torch.rand(2), torch.rand(2)), strict=True)
# %% program="two_vs_for_one_input" entry="as_many_v_as_inputs"
functional.jvp(lambda x: x * 2, torch.rand(2), (torch.rand(2), torch.rand(2)))
# %% program="jacobian_forward_mode_with_graph" entry="forward_strategy"
functional.jacobian(torch.sin, torch.rand(2), create_graph=True, strategy="forward-mode", vectorize=True)
# %% program="tangent_of_integers" entry="dual_numbers_of_integers"
with forward_ad.dual_level():
    forward_ad.make_dual(torch.rand(2), torch.tensor([1, 0]))
# %% program="has_aux_without_aux" entry="transform_returns_a_tuple"
torch.func.grad(lambda x: x.sum(), has_aux=True)(torch.rand(2))
# %% program="jvp_tuple_and_list" entry="primals_without_a_tuple"
torch.func.jvp(torch.sin, (torch.rand(2),), (torch.rand(2), torch.rand(2)))
# %% program="jacrev_of_a_number" entry="transform_returns_a_number"
torch.func.jacrev(lambda x: x.sum().item())(torch.rand(2))
# %% program="vmap_in_dims_that_is_a_list" entry="in_dims"
torch.func.vmap(torch.mul, in_dims=[0, 0])(torch.rand(3), torch.rand(3))
# %% program="vmap_randomness_misspelt" entry="chance_under_vmap"
torch.func.vmap(torch.sin, randomness="diff")(torch.rand(3))
# %% program="gradcheck_nondeterministic_backward" entry="backward_with_chance"
f = own(backward=lambda ctx, g: g * (1 + 1e-6 * torch.rand(2, dtype=torch.float64)))
gradcheck(f.apply, leaf(dtype=torch.float64))
# %% program="func_grad_with_the_input_and_called" entry="argnums"
torch.func.grad(torch.sum, torch.rand(2))(torch.rand(2))
# %% program="dual_of_a_dual" entry="nested_dual_levels"
with forward_ad.dual_level():
    x = forward_ad.make_dual(torch.rand(2), torch.ones(2))
    forward_ad.make_dual(x, torch.ones(2))
# %% program="jvp_returns_a_number" entry="transform_returns_a_number"
torch.func.jvp(lambda x: x.sum().item(), (torch.rand(2),), (torch.rand(2),))
# %% program="jacobian_strategy_misspelt" entry="forward_strategy"
functional.jacobian(torch.sin, torch.rand(2), strategy="forward")
# %% program="gradcheck_function_of_changing_shape" entry="gradcheck_of_a_changing_shape"
gradcheck(lambda x: x[x >= x.detach().clone().round()], torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True))
# %% program="detaching_a_view" entry="memory_under_the_graph"
(leaf() * 1)[:1].detach_()
# %% program="data_of_integers" entry="integers_in_data"
leaf().data = torch.tensor([1, 2])
# %% program="version_set" entry="read_only_attribute"
x = leaf() * 1
x._version = 0
# %% program="recomputing_more_late" entry="recomputed_something_else"
from torch.utils.checkpoint import set_checkpoint_early_stop
runs = iter([lambda x: x.sin(), lambda x: x.exp().sin().exp()])
with set_checkpoint_early_stop(False):
    y = checkpoint(lambda x: next(runs)(x), leaf(), use_reentrant=False)
y.sum().backward()
# %% program="unpacking_no_tensor" entry="unpacked_no_tensor"
with graph.saved_tensors_hooks(lambda t: t.numpy(), lambda a: a):
    y = leaf().detach().requires_grad_().exp()
y.sum().backward()
# %% program="hooks_disabled" entry=""
with graph.disable_saved_tensors_hooks("no hooks here"):
    with graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        leaf().exp()
# %% program="checkpoint_unpacked_twice" entry="unpacked_twice_under_a_checkpoint"
def forward(ctx, x):
    ctx.save_for_backward(x.exp())
    return x.exp()
f = own(forward, lambda ctx, g: g * ctx.saved_tensors[0] * ctx.saved_tensors[0])
checkpoint(f.apply, leaf(), use_reentrant=False).sum().backward()
# %% program="selective_checkpoint_backward_twice" entry="selective_checkpoint_twice"
from torch.utils.checkpoint import CheckpointPolicy, create_selective_checkpoint_contexts
from functools import partial
context_fn = partial(create_selective_checkpoint_contexts, lambda ctx, op, *a, **k: CheckpointPolicy.MUST_SAVE)
y = checkpoint(lambda x: x.exp().sin(), leaf(), use_reentrant=False, context_fn=context_fn).sum()
y.backward(retain_graph=True)
y.backward()
# %% program="forward_called_directly" entry="forward_called_directly"
own().forward(leaf())
# %% program="gradient_on_another_device" entry="gradient_on_another_device"
own(backward=lambda ctx, g: torch.ones(2, device="meta")).apply(leaf()).sum().backward()
# %% program="saved_tensors_unpacked_as_one" entry="saved_tensors_unpacked_as_one"
def forward(ctx, x):
    ctx.save_for_backward(x)
    return x * x
own(forward, lambda ctx, g: 2 * g * ctx.saved_tensors).apply(leaf()).sum().backward()
# %% program="setup_context_beside_ctx" entry="ctx_beside_setup_context"
own(setup_context=lambda ctx, inputs, output: None).apply(leaf())
# %% program="mark_non_differentiable_a_number" entry="no_tensor_marked"
def forward(ctx, x):
    ctx.mark_non_differentiable(2)
    return x * 1
own(forward).apply(leaf())
# %% program="own_attributes_on_instance" entry="read_only_saved_tensors"
def forward(ctx, x):
    ctx.saved_tensors = (x,)
    return x * 1
own(forward).apply(leaf())
# %% program="saved_variables" entry="read_only_saved_tensors"
own(backward=lambda ctx, g: (ctx.saved_variables, g)[1]).apply(leaf()).sum().backward()
# %% program="jvp_of_too_many" entry="number_of_tangents"
f = own(jvp=lambda ctx, t: (t, t))
with forward_ad.dual_level():
    f.apply(forward_ad.make_dual(torch.rand(2), torch.ones(2)))
# %% program="saved_twice_with_clear" entry="saved_tensors_read_twice"
def forward(ctx, x):
    ctx.save_for_backward(x)
    return x * 1
own(forward, lambda ctx, g: (ctx.saved_tensors, ctx.saved_tensors, g)[2], clear_saved_tensors_on_access=True).apply(leaf()).sum().backward()
# %% program="custom_op_that_mutates" entry="operator_that_mutates"
@torch.library.custom_op("course::add_one", mutates_args=("x",))
def add_one(x: torch.Tensor) -> None:
    x.add_(1)
add_one.register_autograd(lambda ctx, g: g)
# %% program="library_without_autograd" entry="operator_without_derivative"
torch.library.define("course::quad", "(Tensor x) -> Tensor")
torch.library.impl("course::quad", "CPU", lambda x: x * 4)
try:
    torch.ops.course.quad(leaf()).sum().backward()
except RuntimeError:
    pass
# %% program="backward_and_vjp" entry="backward_and_vjp"
own(vjp=lambda ctx, g: g).apply(leaf()).sum().backward()
# %% program="input_returned_and_saved" entry="input_returned_and_saved"
def setup_context(ctx, inputs, output):
    ctx.save_for_backward(*inputs)
own(forward=lambda x: x, setup_context=setup_context).apply(leaf())
# %% program="gradcheck_undefined_grads" entry="gradcheck_of_undefined_gradients"
def forward(ctx, x):
    ctx.set_materialize_grads(False)
    return x * 2
def backward(ctx, g):
    return torch.ones(2, dtype=torch.float64) if g is None else g * 2
gradcheck(own(forward, backward).apply, leaf(dtype=torch.float64))
# %% program="view_returned_but_not_by_jvp" entry="number_of_tangents"
f = own(forward=lambda ctx, x: x.view(-1), jvp=lambda ctx, t: t * 1)
with forward_ad.dual_level():
    f.apply(forward_ad.make_dual(torch.rand(2), torch.ones(2)))
# %% program="dirty_view_and_two_outputs" entry="dirty_view_and_two_outputs"
def forward(ctx, x):
    ctx.mark_dirty(x)
    return x.mul_(2), x * 3
own(forward).apply((leaf() * 1)[:1])
# %% program="node_hook_of_another_length" entry="node_hook_returns_no_tuple"
y = leaf().exp()
y.grad_fn.register_hook(lambda i, o: (i[0], i[0]))
y.sum().backward()
# %% program="node_hook_none_replaced" entry="node_hook_returns_no_tuple"
y = leaf() * torch.rand(2)
y.grad_fn.register_hook(lambda i, o: (i[0], torch.ones(2)))
y.sum().backward()
# %% program="full_backward_hook_returns_without_grad_input" entry="module_hook_without_grad_input"
layer = nn.Linear(2, 2)
layer.register_full_backward_hook(lambda m, i, o: (torch.ones(2),))
layer(torch.rand(2)).sum().backward()
# %% program="full_backward_hook_of_a_dict" entry="module_hook_of_a_dict"
class Net(nn.Module):
    def forward(self, x):
        return {"y": x * 2}
net = Net()
net.register_full_backward_hook(lambda m, i, o: None)
net(leaf())["y"].sum().backward()
# %% program="backward_pre_hook_returns_too_many" entry="module_hook_returns_too_many"
layer = nn.Linear(2, 2)
layer.register_full_backward_pre_hook(lambda m, o: (o[0], o[0]))
layer(leaf()).sum().backward()
# %% program="forward_pre_hook_with_kwargs" entry="pre_hook_with_kwargs"
layer = nn.Linear(2, 2)
layer.register_forward_pre_hook(lambda m, a, k: a, with_kwargs=True)
layer(leaf())
# %% program="hook_not_saved" entry="hook_not_saved"
x = leaf()
x.register_hook(print)
pickle.dumps(x)
# %% program="hook_removed_from_a_tensor" entry="hook_removed_from_a_tensor"
x = leaf()
x.register_hook(print)
x.remove_hook(print)
# %% program="ddp_frozen" entry="distributed_frozen"
torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
nn.parallel.DistributedDataParallel(nn.Linear(2, 2).requires_grad_(False))
# %% program="ddp_unused_parameter" entry="distributed_unused_parameter"
torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
net = nn.Linear(2, 2)
net.unused = nn.Linear(2, 2)
ddp = nn.parallel.DistributedDataParallel(net)
[ddp(torch.rand(1, 2)).sum().backward() for _ in range(2)]
# %% program="ddp_ready_twice" entry="distributed_ready_twice"
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.layer, self.unused = (nn.Linear(2, 2) for _ in range(3))
    def forward(self, x):
        x = self.first(x)
        for _ in range(2):
            x = checkpoint(self.layer, x, use_reentrant=True)
        return x
torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
ddp = nn.parallel.DistributedDataParallel(Net())
ddp(torch.rand(1, 2)).sum().backward()
# %% program="anomaly_too_late" entry="anomaly_without_a_traceback"
y = leaf().exp()
y += 1
with torch.autograd.detect_anomaly():
    try:
        y.sum().backward()
    except RuntimeError:
        pass
# %% program="hessian_strict_linear" entry="strict_mode"
functional.hessian(lambda x: x.sum(), torch.rand(2), strict=True)
# %% program="hessian_of_two_outputs" entry="second_derivative_of_a_vector"
functional.hessian(lambda x: (x.sum(), x.sum()), torch.rand(2))
# %% program="masked_select_under_vmap" entry="size_that_depends_on_numbers"
torch.func.vmap(lambda x: torch.masked_select(x, x > 0))(torch.rand(3, 2))
# %% program="sparse_adam_and_a_dense_gradient" entry="dense_gradients"
table = nn.Embedding(3, 2)
table(torch.tensor([1])).sum().backward()
torch.optim.SparseAdam(list(table.parameters())).step()
# %% program="qr_complete_tall" entry="qr_without_a_derivative"
torch.linalg.qr(torch.rand(3, 2, requires_grad=True), mode="complete")[0].sum().backward()
