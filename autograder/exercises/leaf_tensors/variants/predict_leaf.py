# %% variant="w_is_a_constant"
def leaf_table():
    def flags(tensor):
        return tensor.is_leaf, tensor.requires_grad

    def made_by(tensor):
        return None if tensor.grad_fn is None else tensor.grad_fn.name()

    w, u = torch.rand(2), torch.rand(2, requires_grad=True)
    return {
        "w * 0.01": flags(w * 0.01),
        "w + u": flags(w + u),
        "w.view(2, 1)": flags(w.view(2, 1)),
        "u.view(2, 1)": flags(u.view(2, 1)),
        "w.double().requires_grad_()": flags(w.double().requires_grad_()),
        "u.double()": flags(u.double()),
        'u.to("cpu")': flags(u.to("cpu")),
        "(w + u).detach()": flags((w + u).detach()),
        "w + u > 0.5": flags(w + u > 0.5),
        "u.round()": flags(u.round()),
        "(w * 0.01).grad_fn": made_by(w * 0.01),
        "(w + u).grad_fn": made_by(w + u),
    }


# %% variant="h_is_a_result"
def leaf_table():
    def flags(tensor):
        return tensor.is_leaf, tensor.requires_grad

    def made_by(tensor):
        return None if tensor.grad_fn is None else tensor.grad_fn.name()

    w = torch.rand(2, requires_grad=True)
    h = w * 0.01
    return {
        "h.round()": flags(h.round()),
        "h.long()": flags(h.long()),
        "h.detach()": flags(h.detach()),
        "h.detach() + 1": flags(h.detach() + 1),
        "h.detach().requires_grad_()": flags(h.detach().requires_grad_()),
        "h.detach() * w": flags(h.detach() * w),
        'h.to("cpu")': flags(h.to("cpu")),
        "h.argmax()": flags(h.argmax()),
        "torch.nn.Parameter(h.view(2, 1))": flags(torch.nn.Parameter(h.view(2, 1))),
        "w.view(2, 1).view(2)": flags(w.view(2, 1).view(2)),
        "h.detach().grad_fn": made_by(h.detach()),
        "h.grad_fn": made_by(h),
    }


# %% variant="most_of_it_under_no_grad"
def leaf_table():
    def flags(tensor):
        return tensor.is_leaf, tensor.requires_grad

    def made_by(tensor):
        return None if tensor.grad_fn is None else tensor.grad_fn.name()

    w = torch.rand(2, requires_grad=True)
    with torch.no_grad():
        doubled = w * 2
        table = {
            "w under no_grad": flags(w),
            'w.to("cpu") under no_grad': flags(w.to("cpu")),
            "w.double() under no_grad": flags(w.double()),
            "w.view(2, 1) under no_grad": flags(w.view(2, 1)),
            "w * 2 under no_grad": flags(doubled),
            "Parameter(w * 2) under no_grad": flags(torch.nn.Parameter(w * 2)),
        }
    table["doubled + 1"] = flags(doubled + 1)
    table["doubled + w"] = flags(doubled + w)
    table["doubled.requires_grad_()"] = flags(doubled.requires_grad_())
    table["w.detach()"] = flags(w.detach())
    return {**table, "doubled.grad_fn": made_by(doubled), "(doubled + w).grad_fn": made_by(doubled + w)}


# %% variant="the_flag_comes_last"
def leaf_table():
    def flags(tensor):
        return tensor.is_leaf, tensor.requires_grad

    def made_by(tensor):
        return None if tensor.grad_fn is None else tensor.grad_fn.name()

    first = torch.rand(2, requires_grad=True) * 0.01
    w = (torch.rand(2) * 0.01).requires_grad_()
    return {
        "first": flags(first),
        "w": flags(w),
        "w.float()": flags(w.float()),
        "w.double()": flags(w.double()),
        "torch.rand(2).double()": flags(torch.rand(2).double()),
        "w.detach()": flags(w.detach()),
        "torch.nn.Parameter(first)": flags(torch.nn.Parameter(first)),
        "w.detach().view(2, 1)": flags(w.detach().view(2, 1)),
        "w.view(2, 1)": flags(w.view(2, 1)),
        "w > first": flags(w > first),
        "first.detach().grad_fn": made_by(first.detach()),
        "(w + first).grad_fn": made_by(w + first),
    }


# %% mistake="swaps_the_flags"
{r"return tensor\.is_leaf, tensor\.requires_grad": "return tensor.requires_grad, tensor.is_leaf"}

# %% mistake="leaf_means_requires_grad"
{r"return tensor\.is_leaf, tensor": "return tensor.is_leaf and tensor.requires_grad, tensor"}

# %% mistake="arithmetic_is_recorded"
{r"flags\((w \* 0\.01|h\.detach\(\) \+ 1|doubled \+ 1)\)": "(False, True)"}

# %% mistake="arithmetic_makes_no_leaf"
{r"flags\((w \* 0\.01|h\.detach\(\) \+ 1|doubled \+ 1)\)": "(False, False)"}

# %% mistake="casting_keeps_a_leaf"
{r'("\w\.double\(\)": )flags\(.*\)': r"\1(True, True)"}

# %% mistake="to_always_copies"
{r'flags\([uw]\.to\("cpu"\)\)': "(False, True)"}

# %% mistake="views_are_leaves"
{r'("[uw]\.view\(2, 1\)(\.view\(2\))?": )flags\(([uw]\.view.*)\)': r"\1(True, \3.requires_grad)"}

# %% mistake="detach_keeps_the_flag"
{r'("(w|h|\(w \+ u\))\.detach\(\)"(: |\] = ))flags\([^,\n]*\)': r"\1(True, True)"}

# %% mistake="no_grad_is_recorded"
{r'("w \* 2 under no_grad": )flags\(doubled\)': r"\1(False, True)"}

# %% mistake="parameters_keep_history"
{r'("Parameter\(w \* 2\) under no_grad": )flags\(.*\)': r"\1(False, True)"}

# %% mistake="comparisons_are_tracked"
{r"flags\((w \+ u > 0\.5|w > first|h\.argmax\(\))\)": "(False, True)"}

# %% mistake="rounding_cuts"
{r"flags\(([uh]\.round\(\))\)": "(True, False)"}

# %% mistake="leaves_have_a_grad_fn"
{r"made_by\((w \* 0\.01|h\.detach\(\)|doubled|first\.detach\(\))\)": '"AccumulateGrad"'}

# %% mistake="results_have_no_grad_fn"
{r"made_by\(h\)": "None"}

# %% mistake="leaves_out_the_digit"
{r"made_by\((w \+ u|h|doubled \+ w|w \+ first)\)": r'made_by(\1).removesuffix("0")'}

# %% mistake="names_the_operation"
{r"made_by\((w \+ u|h|doubled \+ w|w \+ first)\)": r'made_by(\1).removesuffix("Backward0")'}
