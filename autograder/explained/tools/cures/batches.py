# %% cure="item_under_vmap"
torch.func.vmap(lambda x: torch.where(x > 0, x, -x))(torch.rand(3))

# %% cure="chance_under_vmap"
torch.func.vmap(lambda x: F.dropout(x), randomness="different")(torch.rand(3, 2))

# %% cure="unequal_batches"
torch.func.vmap(torch.dot, in_dims=(0, None))(torch.rand(3, 2), torch.rand(2))

# %% cure="nothing_to_map_over"
torch.func.vmap(torch.mul, in_dims=(0, None))(torch.rand(3), 2.0)

# %% cure="in_dims"
torch.func.vmap(torch.mul, in_dims=(0, 0))(torch.rand(3), torch.rand(3))

# %% cure="vmap_of_nothing"
torch.func.vmap(lambda x: x + 1)(torch.rand(3, 2))

# %% cure="vmap_returns_a_number"
torch.func.vmap(lambda x: torch.ones_like(x))(torch.rand(3))

# %% cure="size_that_depends_on_numbers"
torch.func.vmap(lambda x: torch.where(x > 0, x, 0).sum())(torch.rand(3, 2))

# %% cure="one_hot_under_vmap"
torch.func.vmap(lambda i: F.one_hot(i, num_classes=2))(torch.tensor([0, 1]))

# %% cure="write_under_vmap"
def write(x):
    pair = x.new_zeros(2)
    pair[0] = x
    return pair

torch.func.vmap(write)(torch.rand(3))

# %% cure="sum_in_place_under_vmap"
torch.func.vmap(lambda x: torch.zeros_like(x).add_(x))(torch.rand(3, 2))

# %% cure="loop_under_vmap"
torch.func.vmap(lambda x: F.one_hot((x * 100).long(), num_classes=100).sum(0))(torch.rand(3, 4))

# %% cure="escaped_from_a_transform"
def f(x):
    return x

kept = torch.func.vmap(f)(torch.rand(3))
kept[0] + 1
