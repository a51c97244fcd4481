# %%
N = [5, 20]


# %% variant="saved_twice"
def edits_at_work():
    def three_times(b):
        for _ in range(3):
            b.add_(1)

    seen = {}
    seen["bytes: b.add_(1) three times"] = copied(three_times)[0]
    seen["bytes: b[0].zero_()"] = copied(lambda b: b[0].zero_())[0]
    seen["bytes: b.add_(1), c = b ** 2 + b.sin()"] = copied(lambda b: b.add_(1), save=lambda b: b**2 + b.sin())[0]
    seen["bytes: b.add_(1), c = b[:N] ** 2"] = copied(lambda b: b.add_(1), save=lambda b: b[:N] ** 2)[0]
    seen["bytes: b.add_(1), c = b.sigmoid()"] = copied(lambda b: b.add_(1), save=lambda b: b.sigmoid())[0]
    seen["gradient: b.data.zero_()"] = copied(lambda b: b.data.zero_())[1]

    a = torch.ones(3, requires_grad=True)
    with allow_mutation_on_saved_tensors():
        c = (a * 1) ** 2
        c.sum().backward(retain_graph=True)
    try:
        c.sum().backward()
        seen["a second backward() after the with"] = a.grad[0].item()
    except Exception as error:
        seen["a second backward() after the with"] = type(error)
    return seen


# %% variant="by_hand"
def edits_at_work():
    seen = {}
    seen["bytes: b.fill_(N), c = b * 2"] = copied(lambda b: b.fill_(N), save=lambda b: b * 2)[0]
    seen["bytes: b[:N].fill_(3)"] = copied(lambda b: b[:N].fill_(3))[0]
    seen["bytes: b.fill_(3), c = b.tanh()"] = copied(lambda b: b.fill_(3), save=lambda b: b.tanh())[0]
    seen["bytes: b.fill_(3), c = b[:50].sin()"] = copied(lambda b: b.fill_(3), save=lambda b: b[:50].sin())[0]
    seen["gradient: b.data.fill_(N)"] = copied(lambda b: b.data.fill_(N))[1]
    seen["gradient: b.detach().numpy().fill(N)"] = copied(lambda b: b.detach().numpy().fill(N))[1]
    seen["gradient: b.detach().fill_(N)"] = copied(lambda b: b.detach().fill_(N))[1]
    return seen


# %% mistake="a_copy_per_edit"
{r"copied\(three_times\)\[0\]": "3 * copied(three_times)[0]"}

# %% mistake="copies_what_is_edited"
{
    r"copied\(lambda b: b\[0\]\.zero_\(\)\)\[0\]": "4",
    r"copied\(lambda b: b\[:N\]\.fill_\(3\)\)\[0\]": "4 * N",
}

# %% mistake="copies_the_storage"
{r"save=lambda b: b\[:N\] \*\* 2\)": "save=lambda b: b**2)", r"save=lambda b: b\[:50\]\.sin\(\)\)": "save=torch.sin)"}

# %% mistake="copies_the_input"
{r"save=lambda b: b\.(sigmoid|tanh)\(\)\)": "save=torch.sin)"}

# %% mistake="data_is_not_seen"
{r"lambda b: b\.data\.zero_\(\)": "lambda b: b.detach().numpy().fill(0)", r"lambda b: b\.data\.fill_\(N\)": "lambda b: b.detach().numpy().fill(N)"}

# %% mistake="numpy_is_seen"
{r"lambda b: b\.detach\(\)\.numpy\(\)\.fill\(N\)": "lambda b: b.detach().fill_(N)"}

# %% mistake="backward_may_come_later"
{r"= type\(error\)": "= 4.0"}

# %% mistake="the_usual_error"
{r"= type\(error\)": "= RuntimeError"}
