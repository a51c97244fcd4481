# %%
TIMES = [4, 6, 7]
LOSS = [2, 5]


# %% variant="three_hooks"
def hook_table():
    seen = {}
    w = torch.tensor(2.0, requires_grad=True)
    w.grad = torch.tensor(100.0)  # from an earlier pass
    h = 3 * w

    def watch(gradient):
        seen["first hook on h"] = gradient.item()

    def multiply(gradient):
        seen["second hook on h"] = gradient.item()
        return TIMES * gradient

    def before(gradient):
        seen["hook on w"] = gradient.item()
        seen["w.grad in the hook on w"] = w.grad.item()

    w.register_hook(before)
    h.register_hook(watch)
    h.register_hook(multiply)
    h.register_hook(lambda gradient: seen.update({"third hook on h": gradient.item()}))
    (LOSS * h).backward()
    return {**seen, "w.grad at the end": w.grad.item()}


# %% variant="a_leaf_replaced"
def hook_table():
    seen = {}
    w = torch.tensor(2.0, requires_grad=True)
    w.grad = torch.tensor(100.0)  # from an earlier pass
    h = 3 * w
    h.retain_grad()

    def multiply(gradient):
        seen["first hook on w"] = gradient.item()
        return TIMES * gradient

    def watch(gradient):
        seen["second hook on w"] = gradient.item()
        seen["w.grad in the second hook on w"] = w.grad.item()

    def after(parameter):
        seen["w.grad in the post-accumulate hook"] = parameter.grad.item()

    w.register_hook(multiply)
    w.register_post_accumulate_grad_hook(after)
    w.register_hook(watch)
    (LOSS * h).backward()
    return {**seen, "h.grad": h.grad.item()}


# %% variant="taken_off"
def hook_table():
    seen, calls = {}, []
    w = torch.tensor(2.0, requires_grad=True)
    w.grad = torch.tensor(100.0)  # from an earlier pass
    h = 3 * w
    h.retain_grad()

    def watch(gradient):
        seen[f"second hook on h, pass {len(calls) + 1}"] = gradient.item()

    def before(gradient):
        calls.append("before")
        seen[f"w.grad in the hook on w, pass {len(calls)}"] = w.grad.item()

    handle = h.register_hook(lambda gradient: TIMES * gradient)
    h.register_hook(watch)
    w.register_hook(before)
    (LOSS * h).backward(retain_graph=True)
    table = {"h.grad after pass 1": h.grad.item()}
    handle.remove()
    (LOSS * h).backward()
    return {**table, **seen, "w.grad after pass 2": w.grad.item()}


# %% variant="two_leaves"
def hook_table():
    seen = {}
    w, v = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0, requires_grad=True)
    w.grad, v.grad = torch.tensor(100.0), torch.tensor(0.0)  # from an earlier pass
    h = v * w

    def before(gradient):
        seen["hook on w"] = gradient.item()
        seen["w.grad in the hook on w"] = w.grad.item()

    def after(parameter):
        seen["v.grad in the post-accumulate hook on v"] = parameter.grad.item()

    h.register_hook(lambda gradient: TIMES * gradient)
    h.register_hook(lambda gradient: seen.update({"second hook on h": gradient.item()}))
    h.register_hook(lambda gradient: 10 * gradient)
    h.retain_grad()
    w.register_hook(before)
    v.register_post_accumulate_grad_hook(after)
    (LOSS * h).backward()
    return {**seen, "h.grad": h.grad.item(), "w.grad": w.grad.item()}


# %% mistake="both_see_the_original"
{
    r'(seen\["second hook on w"\] = )gradient': r"\1(gradient / TIMES)",
    r"(second hook on h, pass .*\] = )gradient\.item\(\)": r"\1float(LOSS)",
    r'("second hook on h": )gradient': r"\1(gradient / TIMES)",
}

# %% mistake="last_hook_first"
{
    r'(seen\["first hook on h"\] = )gradient': r"\1(TIMES * gradient)",
    r'("third hook on h": )gradient': r"\1(gradient / TIMES)",
    r'("second hook on h": )gradient': r"\1(10 * gradient / TIMES)",
}

# %% mistake="retains_before_hooks"
{r'("h\.grad after pass 1": )h\.grad': r"\1(h.grad / TIMES)"}

# %% mistake="only_watches"
{r"return TIMES \* gradient": "return", r"lambda gradient: (TIMES|10) \* gradient": "lambda gradient: None"}

# %% mistake="hook_gets_the_sum"
{r'(seen\["(first )?hook on w"\] = )gradient': r"\1(gradient + w.grad)"}

# %% mistake="accumulated_before_the_hook"
{
    r'(seen\["w\.grad in the (second )?hook on w"\] = )w\.grad': r"\1(w.grad + gradient)",
    r"(w\.grad in the hook on w, pass .*\] = )w\.grad": r"\1(w.grad + gradient * (len(calls) == 1))",
}

# %% mistake="post_hook_sees_this_pass"
{
    r'("w\.grad( at the end)?": )w\.grad': r"\1(w.grad - 100)",
    r'(seen\["w\.grad in the post-accumulate hook"\] = )parameter\.grad': r"\1(parameter.grad - 100)",
}
