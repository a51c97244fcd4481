# %%
BLOCKS = [3, 5]


# %% variant="product_last"
def kept_table():
    net = nn.Sequential(*[layer for _ in range(BLOCKS) for layer in (nn.Tanh(), nn.Linear(64, 64))])
    return {
        "no checkpoint": activations(net),
        "checkpoint": activations(saving(net)),
        "tanh saved": activations(saving(net, aten.tanh.default)),
        "addmm saved": activations(saving(net, aten.addmm.default)),
        "mm saved": activations(saving(net, aten.mm.default)),
        "both saved": activations(saving(net, aten.addmm.default, aten.tanh.default)),
    }


# %% variant="without_bias"
def kept_table():
    net = nn.Sequential(*[layer for _ in range(BLOCKS) for layer in (nn.Linear(64, 64, bias=False), nn.Sigmoid())])
    return {
        "no checkpoint": activations(net),
        "checkpoint": activations(saving(net)),
        "sigmoid saved": activations(saving(net, aten.sigmoid.default)),
        "tanh saved": activations(saving(net, aten.tanh.default)),
        "mm saved": activations(saving(net, aten.mm.default)),
        "addmm saved": activations(saving(net, aten.addmm.default)),
    }


# %% variant="three_cheap_operations"
def kept_table():
    def net(x):
        for _ in range(BLOCKS):
            x = (x @ weight).sin().exp().tanh()
        return x

    weight = torch.full((64, 64), 0.01, requires_grad=True)
    return {
        "no checkpoint": activations(net),
        "checkpoint": activations(saving(net)),
        "mm saved": activations(saving(net, aten.mm.default)),
        "addmm saved": activations(saving(net, aten.addmm.default)),
        "exp saved": activations(saving(net, aten.exp.default)),
        "tanh saved": activations(saving(net, aten.tanh.default)),
    }


# %% variant="two_checkpoints"
def kept_table():
    first = nn.Sequential(*[layer for _ in range(BLOCKS) for layer in (nn.Linear(64, 64), nn.Tanh())])
    second = nn.Sequential(nn.Linear(64, 64), nn.Tanh())
    return {
        "no checkpoint": activations(lambda x: second(first(x))),
        "checkpoints": activations(lambda x: saving(second)(saving(first)(x))),
        "checkpoint, second plain": activations(lambda x: second(saving(first)(x))),
        "addmm of the first saved": activations(lambda x: saving(second)(saving(first, aten.addmm.default)(x))),
        "addmm of the second saved": activations(lambda x: saving(second, aten.addmm.default)(saving(first)(x))),
    }


# %% mistake="saving_all_is_plain"
{r"activations\(saving\(net, aten\.addmm\.default, aten\.tanh\.default\)\)": "activations(net)"}

# %% mistake="checkpoint_keeps_nothing"
{r"activations\(saving\(net\)\)": "0"}

# %% mistake="any_product_is_mm"
{
    r'aten\.mm(?=\.default\)\),\n        "both)': "aten.addmm",
    r'aten\.addmm(?=\.default\)\),\n(?:    \}|        "exp))': "aten.mm",
}

# %% mistake="result_counts_twice"
{
    r"(activations\(saving\(net, aten\.sigmoid\.default\)\))": r"\1 + 1",
    r"(activations\(saving\(net, aten\.tanh\.default\)\))(?=,\n    \})": r"\1 + 1",
}
