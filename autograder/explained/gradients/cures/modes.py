# %% cure="no_grad_without_parentheses"
with torch.no_grad():
    pass

# %% cure="set_grad_enabled_without_a_value"
with torch.set_grad_enabled(False):
    pass

# %% cure="view_from_no_grad"
x = torch.rand(2, requires_grad=True) * 1
view = x[:1]
view.mul_(2)

# %% cure="inference_tensor"
with torch.no_grad():
    features = torch.rand(2)
torch.rand(2, requires_grad=True) * features
