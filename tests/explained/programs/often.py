# %% program="requires_grad_called" entry="flag_called"
torch.rand(2).requires_grad(True)
# %% program="misspelt_require_grad_in_ones" entry="argument_misspelt"
torch.ones(2, require_grad=True)
# %% program="float_of_a_tracked_tensor" entry="tensor_of_tracked_tensors"
math.exp(leaf(1))
# %% program="tensor_of_tracked_tensors" entry="tensor_of_tracked_tensors"
a, b = leaf(1), leaf(1)
torch.tensor([a, b])
# %% program="tensor_of_a_tensor" entry="copy_of_a_tensor"
torch.tensor(leaf())
# %% program="gradient_of_a_constant" entry="input_without_requires_grad"
x = torch.rand(2)
torch.autograd.grad((leaf() * x).sum(), x)
# %% program="argmax_in_the_loss" entry="no_derivative_in_the_loss"
(leaf().argmax() == 1).float().backward()
# %% program="switching_a_non_leaf_off" entry="flag_of_a_non_leaf"
y = leaf() * 2
y.requires_grad = False
# %% program="optimizing_a_non_leaf" entry="optimizer_of_a_non_leaf"
torch.optim.SGD([leaf() * 0.1], lr=0.1)
# %% program="second_backward" entry="second_backward"
y = (leaf() ** 2).sum()
y.backward()
y.backward()
# %% program="state_carried_over_steps" entry="value_of_the_last_step"
w = leaf()
state = torch.zeros(2)
for _ in range(2):
    state = (state + w).exp()
    state.sum().backward()
# %% program="gradient_of_something_unused" entry="unused_input"
torch.autograd.grad(leaf().sum(), leaf())
# %% program="tuple_taken_for_a_tensor" entry="tuple_of_gradients"
x = leaf()
torch.autograd.grad(x.sum(), x).shape
# %% program="zeroing_none" entry="no_backward_yet"
leaf().grad.zero_()
# %% program="stepping_with_none" entry="no_backward_yet"
w = leaf()
w.data -= 0.1 * w.grad
# %% program="weight_replaced_by_the_update" entry="weight_replaced_by_the_update"
w = leaf()
for _ in range(2):
    (w * w).sum().backward()
    with torch.no_grad():
        w = w - 0.1 * w.grad
        w.requires_grad_()
        w.grad.zero_()
# %% program="none_grad_subscripted" entry="no_backward_yet"
leaf().grad[0]
# %% program="zero_grad_of_a_tensor" entry="zero_grad_of_a_tensor"
w = leaf()
w.zero_grad()
# %% program="optimizer_given_a_tensor" entry="optimizer_of_a_tensor"
torch.optim.SGD(leaf(), lr=0.1)
# %% program="optimizer_with_nothing" entry="optimizer_of_nothing"
params = nn.Linear(2, 2).parameters()
nn.utils.clip_grad_norm_(params, 1.0)
torch.optim.SGD(params, lr=0.1)
# %% program="backward_under_func" entry="tracking_inside_a_transform"
def f(x):
    (x**2).sum().backward()
    return x.grad
torch.func.vmap(f)(torch.rand(3, 2))
# %% program="item_under_vmap" entry="item_under_vmap"
torch.func.vmap(lambda x: x * x.item())(torch.rand(3))
# %% program="update_in_place" entry="leaf_in_place"
w = leaf()
w.sum().backward()
w -= 0.1 * w.grad
# %% program="loss_under_no_grad" entry="loss_under_no_grad"
with torch.no_grad():
    loss = leaf().sum()
loss.backward()
# %% program="wrong_backward" entry="gradcheck_mismatch"
gradcheck(own(forward=lambda ctx, x: x * 2).apply, leaf(dtype=torch.float64))
# %% program="one_gradient_for_two_inputs" entry="number_of_gradients"
own(lambda ctx, x, k: x * k).apply(leaf(), 2).sum().backward()
# %% program="backward_of_two_outputs" entry="arguments_of_backward"
own(lambda ctx, x: (x * 1, x * 2), lambda ctx, g: g).apply(leaf())[0].sum().backward()
# %% program="gradient_of_another_shape" entry="gradient_of_another_shape"
own(backward=lambda ctx, g: torch.ones(3)).apply(leaf()).sum().backward()
# %% program="saving_a_number" entry="saving_a_number"
def forward(ctx, x, k):
    ctx.save_for_backward(x, k)
    return x * k
own(forward).apply(leaf(), 2.0)
# %% program="no_backward" entry="no_backward"
own(backward=None).apply(leaf()).sum().backward()
# %% program="forward_returns_nothing" entry="function_without_return"
def forward(ctx, x):
    x * 2
own(forward).apply(leaf()).sum()
# %% program="function_called" entry="function_called"
own()(leaf()).sum()
# %% program="full_backward_hook_without_grad_input" entry="module_hook_without_grad_input"
layer = nn.Linear(2, 2)
layer.register_full_backward_hook(lambda m, i, o: None)
layer(torch.rand(2)).sum().backward()
# %% program="second_derivative_without_create_graph" entry="gradient_without_create_graph"
x = leaf()
(g,) = torch.autograd.grad((x**3).sum(), x)
torch.autograd.grad(g.sum(), x)
