# %% program="old_constructor_with_data" entry="old_constructor"
torch.Tensor([1.0], requires_grad=True)
# %% program="tensor_of_vectors" entry="tensor_of_vectors"
torch.tensor([leaf(), leaf()])
# %% program="sampled_without_rsample" entry="sample_in_the_loss"
torch.distributions.Normal(leaf(), 1.0).sample().sum().backward()
# %% program="normal_with_requires_grad" entry="wrong_size"
torch.normal(0.0, 1.0, requires_grad=True)
# %% program="torch_has_no_grad" entry="torch_has_no_grad"
torch.grad(leaf().sum(), leaf())
# %% program="method_overwritten_by_the_flag" entry="misspelt_flag"
x = torch.rand(2)
x.requires_grad_ = True
x.sum().backward()
# %% program="cat_of_numpy" entry="array_times_tracked_tensor"
torch.cat([leaf(), np.ones(2)])
# %% program="backward_of_a_numpy_number" entry="backward_of_a_number"
np.mean(leaf().detach().numpy()).backward()
# %% program="backward_of_none" entry="function_without_return"
def loss_of(x):
    x.sum()
loss_of(leaf()).backward()
# %% program="gradient_of_none" entry="inputs_that_are_none"
torch.autograd.grad(leaf().sum(), [None])
# %% program="gradient_of_nothing" entry="no_inputs"
torch.autograd.grad(leaf().sum(), [])
# %% program="index_of_a_scalar" entry="index_of_a_scalar"
leaf().sum().data[0]
# %% program="bce_with_integer_target_probability" entry="integers_for_a_loss"
F.binary_cross_entropy(leaf(), torch.tensor([0, 1])).backward()
# %% program="weight_of_a_loss_requires_grad" entry="argument_without_derivative"
F.nll_loss(torch.rand(1, 2, requires_grad=True), torch.tensor([1]), weight=leaf())
# %% program="no_derivative_histc" entry="no_derivative_in_the_loss"
torch.histc(leaf(), bins=2).sum().backward()
# %% program="no_derivative_heaviside" entry="no_derivative_at_all"
torch.heaviside(leaf(), leaf()).sum().backward()
# %% program="grad_without_inputs" entry="grad_without_inputs"
torch.autograd.grad(leaf().sum())
# %% program="node_and_index_taken_for_a_node" entry="node_and_index"
leaf().exp().sum().grad_fn.next_functions[0].next_functions
# %% program="none_grad_as_argument" entry="no_backward_yet"
torch.allclose(leaf().grad, torch.ones(2))
# %% program="none_grad_concatenated" entry="no_backward_yet"
a, b = leaf(), leaf()
a.sum().backward()
torch.cat([p.grad.flatten() for p in (a, b)])
# %% program="parameters_without_parentheses" entry="parameters_without_parentheses"
torch.optim.SGD(nn.Linear(2, 2).parameters, lr=0.1)
# %% program="grad_of_another_dtype" entry="grad_of_another_kind"
leaf().grad = torch.ones(2, dtype=torch.float64)
# %% program="grad_that_is_a_number" entry="grad_of_another_kind"
leaf().grad = 0.0
# %% program="truth_of_a_vector" entry="truth_of_a_vector"
if leaf() > 0:
    pass
# %% program="complex_loss" entry="complex_loss"
(leaf(1) * 1j).sum().backward()
# %% program="iteration_over_a_scalar" entry="iteration_over_a_scalar"
for part in leaf().sum():
    pass
# %% program="gradcheck_of_a_random_function" entry="gradcheck_of_a_random_function"
gradcheck(lambda x: F.dropout(x, 0.5), torch.rand(50, dtype=torch.float64, requires_grad=True))
# %% program="gradcheck_of_a_cut_function" entry="gradcheck_of_a_cut_function"
gradcheck(lambda x: x.detach() * 2, leaf(dtype=torch.float64))
# %% program="jvp_without_v" entry="v_missing"
functional.jvp(lambda x: x * 2, torch.rand(2))
# %% program="vjp_with_v_of_another_size" entry="v_of_another_shape"
functional.vjp(lambda x: x * 2, torch.rand(2), torch.rand(3))
# %% program="tangent_of_another_size" entry="tangent_of_another_shape"
with forward_ad.dual_level():
    forward_ad.make_dual(torch.rand(2), torch.ones(3))
# %% program="no_forward_mode_for_this_operation" entry="no_forward_mode"
torch.func.jvp(lambda x: torch.cdist(x, x), (torch.rand(3, 2),), (torch.rand(3, 2),))
# %% program="func_grad_of_integers" entry="integers_require_grad"
torch.func.grad(lambda x: x.sum())(torch.tensor([1, 2]))
# %% program="requires_grad_under_func" entry="tracking_inside_a_transform"
torch.func.grad(lambda x: x.requires_grad_().sum())(torch.rand(2))
# %% program="vmap_over_a_scalar" entry="nothing_to_map_over"
torch.func.vmap(torch.mul)(torch.rand(3), torch.tensor(2.0))
# %% program="retain_grad_under_func" entry="tracking_inside_a_transform"
torch.func.grad(lambda x: (x.retain_grad(), x.sum())[1])(torch.rand(2))
# %% program="jvp_of_a_number" entry="transform_of_a_number"
torch.func.jvp(torch.sin, (1.0,), (1.0,))
# %% program="step_between_forward_and_backward" entry="saved_value_overwritten"
net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
loss = net(torch.rand(1, 2)).sum()
loss.backward(retain_graph=True)
torch.optim.SGD(net.parameters(), lr=0.1).step()
loss.backward()
# %% program="loss_under_inference_mode" entry="loss_under_inference_mode"
with torch.inference_mode():
    loss = leaf().sum()
loss.backward()
# %% program="inference_tensor_in_place" entry="inference_tensor"
with torch.inference_mode():
    x = torch.rand(2)
x.add_(1)
# %% program="inference_tensor_requires_grad" entry="inference_tensor"
with torch.inference_mode():
    x = torch.rand(2)
x.requires_grad_()
# %% program="version_of_an_inference_tensor" entry="inference_tensor"
with torch.inference_mode():
    x = torch.rand(2)
x._version
# %% program="data_that_is_no_tensor" entry="data_that_is_no_tensor"
leaf().data = 0.0
# %% program="expanded_tensor_changed" entry="expanded_tensor_in_place"
x = leaf(1).expand(3).detach()
x += torch.rand(3)
# %% program="checkpoint_that_lost_the_gradient" entry="old_checkpoint_without_a_graph"
checkpoint(nn.Linear(2, 2), torch.rand(2), use_reentrant=True).sum().backward()
# %% program="recomputing_fewer" entry="recomputed_something_else"
runs = iter([lambda x: x.exp().sin(), lambda x: x.sin()])
checkpoint(lambda x: next(runs)(x), leaf(), use_reentrant=False).sum().backward()
# %% program="recomputing_another_shape" entry="recomputed_something_else"
runs = iter([lambda x: x * x, lambda x: x[:1] * x[:1]])
checkpoint(lambda x: next(runs)(x), leaf(), use_reentrant=False).sum().backward()
# %% program="saved_after_backward" entry="second_backward"
y = leaf().exp()
node = y.grad_fn
y.sum().backward()
node._saved_result
# %% program="wrong_jvp" entry="gradcheck_mismatch"
f = own(forward=lambda ctx, x: x * 2, backward=lambda ctx, g: g * 2, jvp=lambda ctx, t: t * 3)
gradcheck(f.apply, leaf(dtype=torch.float64), check_forward_ad=True)
# %% program="backward_ignores_grad" entry="backward_ignores_grad"
f = own(forward=lambda ctx, x: x.sum(), backward=lambda ctx, g: torch.ones(2, dtype=torch.float64))
gradcheck(f.apply, leaf(dtype=torch.float64))
# %% program="backward_cannot_take_none" entry="none_into_backward"
def forward(ctx, x):
    ctx.set_materialize_grads(False)
    return x * 2, x * 3
f = own(forward, lambda ctx, a, b: a * 2 + b * 3)
gradcheck(f.apply, leaf(dtype=torch.float64))
# %% program="methods_called_on_an_instance" entry="function_with_instance_methods"
own()()(leaf())
# %% program="instance_of_a_function" entry="function_with_instance_methods"
own()()
# %% program="forward_without_ctx" entry="arguments_of_forward"
own(forward=lambda x: x * 2).apply(leaf())
# %% program="forward_returns_only_a_number" entry="forward_returns_a_number"
own(lambda ctx, x: 1.0).apply(leaf()).sum().backward()
# %% program="backward_returns_nothing" entry="number_of_gradients"
own(lambda ctx, x, k: x * k, lambda ctx, g: None).apply(leaf(), 2).sum().backward()
# %% program="gradient_that_is_a_number" entry="gradient_that_is_a_number"
own(backward=lambda ctx, g: 2.0).apply(leaf()).sum().backward()
# %% program="attribute_of_ctx_missing" entry="attribute_of_ctx_missing"
own(backward=lambda ctx, g: g * ctx.k).apply(leaf()).sum().backward()
# %% program="no_forward" entry="no_forward"
own(forward=None).apply(leaf())
# %% program="no_jvp" entry="no_backward"
with forward_ad.dual_level():
    own().apply(forward_ad.make_dual(torch.rand(2), torch.ones(2)))
# %% program="no_setup_context" entry="no_setup_context"
f = own()
torch.func.grad(lambda x: f.apply(x).sum())(torch.rand(2))
# %% program="no_vmap_rule" entry="no_vmap_rule"
f = own(forward=lambda x: x * 1, setup_context=lambda ctx, inputs, output: None)
torch.func.vmap(f.apply)(torch.rand(3, 2))
# %% program="dirty_but_not_returned" entry="dirty_but_not_returned"
def forward(ctx, x):
    ctx.mark_dirty(x)
    return x * 2
own(forward).apply(leaf() * 1)
# %% program="dirty_leaf" entry="leaf_marked_dirty"
def forward(ctx, x):
    ctx.mark_dirty(x)
    return x.mul_(2)
own(forward).apply(leaf())
# %% program="view_of_a_function_changed" entry="view_of_a_function_changed"
y = own(forward=lambda ctx, x: x.view(-1)).apply(leaf() * 1)
y.mul_(2)
# %% program="twice_through_once_differentiable" entry="twice_through_once_differentiable"
def forward(ctx, x):
    ctx.save_for_backward(x)
    return x * x
x = leaf()
f = own(forward, once_differentiable(lambda ctx, g: 2 * g * ctx.saved_tensors[0]))
(g,) = torch.autograd.grad(f.apply(x).pow(2).sum(), x, create_graph=True)
g.sum().backward()
# %% program="gradcheck_of_the_class" entry="function_called"
gradcheck(own(), leaf(dtype=torch.float64))
# %% program="retain_grad_on_a_constant" entry="hook_on_a_constant"
torch.rand(2).retain_grad()
# %% program="hook_that_returns_a_number" entry="hook_changes_shape_or_dtype"
x = leaf()
x.register_hook(lambda grad: float(grad.norm()))
x.sum().backward()
# %% program="node_hook_with_one_argument" entry="arguments_of_a_hook"
y = leaf().exp()
y.grad_fn.register_hook(lambda grad: None)
y.sum().backward()
# %% program="node_hook_that_returns_a_tensor" entry="node_hook_returns_no_tuple"
y = leaf().exp()
y.grad_fn.register_hook(lambda i, o: i[0] * 2)
y.sum().backward()
# %% program="full_backward_hook_returns_too_many" entry="module_hook_returns_too_many"
layer = nn.Linear(2, 2)
layer.register_full_backward_hook(lambda m, i, o: (i[0], i[0]))
layer(leaf()).sum().backward()
# %% program="old_backward_hook" entry="old_backward_hook"
net = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
net.register_backward_hook(lambda m, i, o: None)
net(leaf()).sum().backward()
# %% program="forward_hook_with_two_arguments" entry="arguments_of_a_forward_hook"
layer = nn.Linear(2, 2)
layer.register_forward_hook(lambda module, output: None)
layer(leaf())
# %% program="anomaly_traceback" entry="anomaly_traceback"
with torch.autograd.detect_anomaly():
    y = leaf().exp()
    y += 1
    try:
        y.sum().backward()
    except RuntimeError:
        pass
# %% program="gradgradcheck_of_a_first_derivative_only" entry="gradgradcheck_mismatch"
def forward(ctx, x):
    ctx.x = x.detach()
    return x**3
f = own(forward, lambda ctx, g: 3 * g * ctx.x**2)
gradgradcheck(f.apply, leaf(dtype=torch.float64))
# %% program="hessian_of_a_vector" entry="second_derivative_of_a_vector"
functional.hessian(lambda x: x**2, torch.rand(2))
# %% program="nonzero_under_vmap" entry="size_that_depends_on_numbers"
torch.func.vmap(lambda x: x.nonzero())(torch.rand(3, 2))
# %% program="outside_tensor_changed_under_func" entry="outside_tensor_changed"
total = torch.zeros(2)
def f(x):
    total.add_(x)
    return x.sum()
torch.func.grad(f)(torch.rand(2))
# %% program="batch_norm_under_vmap" entry="outside_tensor_changed"
norm = nn.BatchNorm1d(2)
torch.func.vmap(lambda x: norm(torch.stack([x, -x])))(torch.rand(3, 2))
# %% program="second_derivative_of_fused_attention" entry="no_second_derivative"
q = torch.rand(1, 2, 3, 4, requires_grad=True)
(g,) = torch.autograd.grad(F.scaled_dot_product_attention(q, q, q).sum(), q, create_graph=True)
g.sum().backward()
# %% program="second_derivative_of_distances" entry="no_second_derivative" silent="2.14"
x = torch.rand(3, 4, requires_grad=True)
(g,) = torch.autograd.grad(torch.cdist(x, torch.rand(3, 4)).sum(), x, create_graph=True)
g.sum().backward()
# %% program="complex_gradient_of_a_real_input" entry="complex_gradient_of_a_real_input"
own(lambda ctx, x: x * 1j, lambda ctx, g: g * 1j).apply(leaf()).abs().sum().backward()
# %% program="phase_of_an_eigenvector" entry="phase_of_a_vector"
a = torch.rand(3, 3, dtype=torch.complex64, requires_grad=True)
torch.linalg.eig(a)[1].real.sum().backward()
# %% program="old_scaler" entry="scaler_without_a_gpu"
torch.cuda.amp.GradScaler()
# %% program="checkpoint_of_a_frozen_block" entry="checkpoint_of_a_frozen_block"
block = nn.Linear(2, 2).requires_grad_(False)
checkpoint(lambda x, _: block(x), torch.rand(2), leaf(), use_reentrant=True).sum().backward()
# %% program="deepcopy_of_a_module_with_a_non_leaf" entry="deepcopy_of_a_non_leaf"
layer = nn.Linear(2, 2)
layer.last = layer(torch.rand(2))
copy.deepcopy(layer)
# %% program="target_of_another_size" entry="target_of_another_size"
F.mse_loss(torch.rand(3, 1, requires_grad=True), torch.rand(3)).backward()
