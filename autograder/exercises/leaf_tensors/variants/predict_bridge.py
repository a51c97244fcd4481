# %%
NEW = [5, 6, 8]


# %% variant="written_on_the_other_side"
def numpy_bridge():
    import numpy

    array = numpy.ones(2)
    shared, copied = torch.from_numpy(array), torch.tensor(array)
    shared[0] = NEW
    copied[1] = NEW

    c = torch.ones(2)
    back = c.numpy()
    c[0] = NEW

    w = torch.ones(2, requires_grad=True)
    refused = attempt(lambda: (w * 2).numpy())
    w.detach().numpy()[0] = NEW
    with torch.no_grad():
        w.add_(1)
        under_no_grad = attempt(lambda: w.numpy())

    return {
        "copied.dtype": str(copied.dtype),
        "torch.from_numpy(c.numpy()).dtype": str(torch.from_numpy(c.numpy()).dtype),
        "array[0] after shared[0] = NEW": array[0].item(),
        "array[1] after copied[1] = NEW": array[1].item(),
        "c.numpy()[0] after c[0] = NEW": back[0].item(),
        "(w * 2).numpy()": refused,
        "w.numpy() under no_grad": under_no_grad,
        "w[0] after w.detach().numpy()[0] = NEW and w.add_(1)": w[0].item(),
        "w._version": w._version,
    }


# %% variant="a_chain_of_bridges"
def numpy_bridge():
    import numpy

    array = numpy.ones(2)
    first = torch.from_numpy(array)
    second = torch.from_numpy(first.numpy())
    third = torch.tensor(second.numpy())
    array[0] = NEW

    h = first * 2
    k = torch.ones(2, requires_grad=True) * 2
    k.detach().numpy()[1] = NEW

    return {
        "torch.from_numpy(array).dtype": str(first.dtype),
        "second[0] after array[0] = NEW": second[0].item(),
        "third[0] after array[0] = NEW": third[0].item(),
        "first._version": first._version,
        "h.numpy()": attempt(lambda: h.numpy()),
        "k.numpy()": attempt(lambda: k.numpy()),
        "k.detach().numpy()": attempt(lambda: k.detach().numpy()),
        "k.tolist()": attempt(lambda: k.tolist()),
        "k[1] after k.detach().numpy()[1] = NEW": k[1].item(),
    }


# %% variant="clones_and_small_floats"
def numpy_bridge():
    import numpy

    array = numpy.ones(2, dtype="float32")
    shared, copied = torch.from_numpy(array), torch.from_numpy(array).clone()
    array[1] = NEW

    c = torch.ones(2)
    c.clone().numpy()[0] = NEW
    d = torch.ones(2)
    d.numpy()[0] = NEW

    w = torch.ones(2, requires_grad=True)
    w.detach().clone().numpy()[0] = NEW

    return {
        "torch.from_numpy(array).dtype": str(shared.dtype),
        "torch.tensor(numpy.ones(2)).dtype": str(torch.tensor(numpy.ones(2)).dtype),
        "shared[1] after array[1] = NEW": shared[1].item(),
        "copied[1] after array[1] = NEW": copied[1].item(),
        "c[0] after c.clone().numpy()[0] = NEW": c[0].item(),
        "d[0] after d.numpy()[0] = NEW": d[0].item(),
        "w.clone().numpy()": attempt(lambda: w.clone().numpy()),
        "w.clone().tolist()": attempt(lambda: w.clone().tolist()),
        "w[0] after w.detach().clone().numpy()[0] = NEW": w[0].item(),
    }


# %% variant="the_flag_comes_later"
def numpy_bridge():
    import numpy

    array = numpy.ones(2)
    w = torch.from_numpy(array)
    before = attempt(lambda: w.numpy())
    w.requires_grad_()
    array[0] = NEW
    with torch.no_grad():
        w[1] = NEW
        made = w * 2

    return {
        "w.dtype": str(w.dtype),
        "w.numpy() before w.requires_grad_()": before,
        "w.numpy()": attempt(lambda: w.numpy()),
        "w.tolist()": attempt(lambda: w.tolist()),
        "made.numpy()": attempt(lambda: made.numpy()),
        "w[0] after array[0] = NEW": w[0].item(),
        "array[1] after w[1] = NEW": array[1].item(),
        "w._version": w._version,
    }


# %% mistake="bridge_makes_float32"
{r"str\((first|w)\.dtype\)": '"torch.float32"'}

# %% mistake="from_numpy_copies"
{r'("(array\[0\] after shared|second\[0\] after|shared\[1\] after|w\[0\] after array).*": ).*': r"\g<1>1.0,"}

# %% mistake="torch_tensor_shares"
{r'("(array\[1\] after copied\[1\] = NEW|third\[0\] after array\[0\] = NEW)": ).*': r"\g<1>float(NEW),"}

# %% mistake="to_numpy_copies"
{r'("(c\.numpy\(\)\[0\] after c|d\[0\] after d\.numpy\(\)\[0\]).*": ).*': r"\g<1>1.0,"}

# %% mistake="numpy_always_needs_detach"
{r'("(h\.numpy\(\)|made\.numpy\(\))": ).*': r'\1"RuntimeError",'}

# %% mistake="tracked_converts"
{r'("(k|w\.clone\(\)|w|\(w \* 2\))\.numpy\(\)": ).*': r'\1"accepted",'}

# %% mistake="no_grad_is_refused"
{r"under_no_grad = attempt.*": 'under_no_grad = "RuntimeError"'}

# %% mistake="tolist_is_refused"
{r'(tolist\(\)": ).*': r'\1"RuntimeError",'}

# %% mistake="detach_copied"
{r"w\.detach\(\)\.numpy\(\)\[0\] = NEW$": "pass"}

# %% mistake="numpy_is_counted"
{r'("(w|first)\._version": .*),': r"\1 + 1,"}

# %% mistake="leaves_the_module_out"
{r"str\((first|w)\.dtype\)": r"str(\1.dtype).removeprefix('torch.')"}

# %% mistake="expects_a_type_error"
{r'("(k|w\.clone\(\)|w|\(w \* 2\))\.numpy\(\)": ).*': r'\1"TypeError",'}
