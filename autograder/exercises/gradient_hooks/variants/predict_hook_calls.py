# %%
TIMES = [4, 6, 7]
LOSS = [2, 5]


# %% variant="three_uses"
def hook_calls():
    calls, table = [], {}
    w = torch.tensor(2.0, requires_grad=True)
    w.register_hook(lambda gradient: calls.append("before"))
    (2 * w + 3 * w + 4 * w).backward()
    table["calls of the hook on w, used three times"] = calls.count("before")

    calls.clear()
    h = 3 * w
    h.register_hook(lambda gradient: calls.append("on h"))
    torch.autograd.grad(2 * h, h)
    table["hook on h runs in autograd.grad(2 * h, h)"] = "on h" in calls
    table["hook on w runs in autograd.grad(2 * h, h)"] = "before" in calls

    h = 1 * w
    h.register_hook(lambda gradient: table.update({"hook before h.mul_(4)": gradient.item()}))
    h.mul_(4)
    h.register_hook(lambda gradient: table.update({"hook after h.mul_(4)": gradient.item()}))
    (TIMES * h).backward()
    return table


# %% variant="two_passes"
def hook_calls():
    calls, table = [], {}
    w = torch.tensor(2.0, requires_grad=True)
    w.register_post_accumulate_grad_hook(lambda parameter: calls.append("after"))
    (2 * w + 3 * w).backward()
    (2 * w).backward()
    table["calls of the post-accumulate hook in two passes"] = calls.count("after")

    calls.clear()
    torch.autograd.grad(2 * w, w)
    table["post-accumulate hook runs in autograd.grad"] = "after" in calls
    w.register_hook(lambda gradient: calls.append("third"))
    torch.autograd.grad(w * w, w)
    table["third hook on w runs in autograd.grad"] = "third" in calls

    h = 1 * w
    h.register_hook(lambda gradient: table.update({"hook before h.mul_(4)": gradient.item()}))
    h.mul_(4)
    h.register_hook(lambda gradient: table.update({"hook before h.add_(1)": gradient.item()}))
    h.add_(1)
    (LOSS * h).backward()
    return table


# %% variant="a_new_name"
def hook_calls():
    calls, table = [], {}
    w = torch.tensor(2.0, requires_grad=True)
    w.register_hook(lambda gradient: calls.append("before"))
    (2 * w * w).backward()
    table["calls of the hook on w, w * w"] = calls.count("before")

    calls.clear()
    w.register_post_accumulate_grad_hook(lambda parameter: calls.append("after"))
    torch.autograd.grad(2 * w, w)
    table["hook on w runs in autograd.grad"] = "before" in calls
    table["post-accumulate hook runs in autograd.grad"] = "after" in calls

    h = TIMES * w
    h.register_hook(lambda gradient: table.update({"hook before h = 4 * h": gradient.item()}))
    h = 4 * h
    h.register_hook(lambda gradient: table.update({"hook after h = 4 * h": gradient.item()}))
    h.backward()
    return table


# %% variant="two_leaves"
def hook_calls():
    calls, table = [], {}
    w, v = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0, requires_grad=True)
    w.register_hook(lambda gradient: calls.append("before"))
    v.register_post_accumulate_grad_hook(lambda parameter: calls.append("after"))
    (2 * w + 3 * w + v).backward()
    table["calls of the hook on w, used twice"] = calls.count("before")

    calls.clear()
    torch.autograd.grad(v * w, v)
    table["hook on w runs in autograd.grad(v * w, v)"] = "before" in calls
    table["post-accumulate hook on v runs in autograd.grad(v * w, v)"] = "after" in calls

    h = 1 * w
    h.register_hook(lambda gradient: table.update({"hook before h.mul_(v)": gradient.item()}))
    h.mul_(v)
    h.register_hook(lambda gradient: table.update({"hook after h.mul_(v)": gradient.item()}))
    (LOSS * h).backward()
    return table


# %% mistake="once_for_each_use"
{
    r'(used three times"\] = )calls\.count\("before"\)': r"\g<1>3",
    r'((used twice|w \* w)"\] = )calls\.count\("before"\)': r"\g<1>2",
}

# %% mistake="grad_runs_no_hooks"
{
    r'(hook on h runs in autograd\.grad.*\] = )"on h" in calls': r"\1False",
    r'(hook on w runs in autograd\.grad"\] = )"(third|before)" in calls': r"\1False",
}

# %% mistake="grad_runs_all_hooks"
{r'(post-accumulate hook .*runs in autograd\.grad.*\] = )"after" in calls': r"\1True"}

# %% mistake="hook_follows_the_name"
{
    r'("hook before h\.mul_\(4\)": )gradient': r"\1(gradient / 4)",
    r'("hook before h\.mul_\(v\)": )gradient': r"\1(gradient / 3)",
}
