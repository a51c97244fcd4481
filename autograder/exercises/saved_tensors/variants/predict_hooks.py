# %%
AT = [2.0, 5.0]


# %% variant="longer_chains"
def hooks_at_work():
    seen = {}
    x, W = torch.ones(3, requires_grad=True), torch.ones(3, 2, requires_grad=True)

    def partly_without_grad():
        y = x.exp()
        with torch.no_grad():
            y.exp()

    def partly_in_another_thread():
        y = x.exp()
        thread = threading.Thread(target=y.exp)
        thread.start()
        thread.join()

    def partly_inside_an_inner_pair():
        y = x.exp()
        with inner:
            y.exp()

    seen["packs of x * x * x"] = packs(lambda: x * x * x)
    seen["packs of (x @ W).exp()"] = packs(lambda: (x @ W).exp())
    seen["packs of x.exp().exp(), the second one under no_grad"] = packs(partly_without_grad)
    seen["packs of x.exp().exp(), the second one in another thread"] = packs(partly_in_another_thread)
    seen["outer packs of x.exp().exp(), the second one inside an inner pair"] = packs(partly_inside_an_inner_pair)

    calls.clear()
    with counting:
        y = x.exp().exp().sum()
    y.backward(retain_graph=True)
    y.backward()
    seen["unpacks of x.exp().exp() in two backward passes"] = calls.count("unpack")

    z = torch.tensor(2.0, requires_grad=True)
    with saved_tensors_hooks(lambda t: 6 * t, lambda t: t):
        y = z**2
    y.backward()
    seen["gradient of x ** 2 at 2 with pack = 6 * t"] = z.grad.item()
    return seen


# %% variant="where_the_pair_stands"
def hooks_at_work():
    seen = {}
    x, W = torch.ones(3, requires_grad=True), torch.ones(3, 2)

    def in_the_thread():
        with counting:
            x.exp()

    def outside_the_thread():
        thread = threading.Thread(target=x.exp)
        with counting:
            thread.start()
            thread.join()

    y = (x**2).sum()
    seen["packs of x @ W, W requires no grad"] = packs(lambda: x @ W)
    seen["packs of y.backward(), then x.exp()"] = packs(lambda: (y.backward(), x.exp()))
    seen["packs of (x * x).sum().backward()"] = packs(lambda: (x * x).sum().backward())
    seen["unpacks of (x * x).sum().backward()"] = calls.count("unpack")

    calls.clear()
    outside_the_thread()
    seen["packs of x.exp(), the with around the thread"] = calls.count("pack")
    calls.clear()
    thread = threading.Thread(target=in_the_thread)
    thread.start()
    thread.join()
    seen["packs of x.exp(), the with inside the thread"] = calls.count("pack")

    z = torch.tensor(6.0, requires_grad=True)
    with saved_tensors_hooks(lambda t: t.detach(), lambda t: 2 * t):
        y = z**2
    y.backward()
    seen["gradient of x ** 2 at 6 with unpack = 2 * t"] = z.grad.item()
    return seen


# %% variant="passes"
def hooks_at_work():
    seen = {}
    x = torch.ones(3, requires_grad=True)

    def recorded_after_all():
        with torch.no_grad():
            x.exp()
            with torch.enable_grad():
                x.exp()

    def inner_pair_first():
        with inner:
            x * x
        x.exp()

    seen["packs of x.exp() under no_grad, then enable_grad"] = packs(recorded_after_all)
    seen["outer packs of x * x inside an inner pair, x.exp() after it"] = packs(inner_pair_first)
    seen["packs of x * x.sigmoid()"] = packs(lambda: x * x.sigmoid())

    calls.clear()
    with counting:
        y = (x**2).sum()
    seen["unpacks of x ** 2 before backward"] = calls.count("unpack")
    with counting:
        y.backward(retain_graph=True)
    seen["packs of x ** 2 and one backward pass"] = calls.count("pack")
    y.backward()
    seen["unpacks of x ** 2 in two backward passes"] = calls.count("unpack")

    z = torch.tensor(0.0, requires_grad=True)
    with saved_tensors_hooks(lambda t: 4 * t, lambda t: t):
        y = z.exp()
    y.backward()
    seen["gradient of x.exp() at 0 with pack = 4 * t"] = z.grad.item()
    return seen


# %% variant="one_graph_twice"
def hooks_at_work():
    seen = {}
    x, W = torch.ones(3, requires_grad=True), torch.ones(3, 3, requires_grad=True)

    def both_pairs_the_other_way_round():
        with inner, counting:
            x.exp()

    def without_grad():
        with torch.no_grad():
            (x * x) @ W

    seen["packs of x @ W @ W"] = packs(lambda: x @ W @ W)
    seen["packs of (x * x) @ W"] = packs(lambda: (x * x) @ W)
    seen["packs of (x * x) @ W under no_grad"] = packs(without_grad)
    calls.clear()
    both_pairs_the_other_way_round()
    seen["packs of x.exp() if the counting pair is the inner one"] = calls.count("pack")

    y = x.sin().sum()
    seen["packs of y.backward(), y recorded before the with"] = packs(y.backward)
    calls.clear()
    with counting:
        y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    seen["unpacks of x * x in two backward passes"] = calls.count("unpack")

    z = torch.tensor(AT, requires_grad=True)
    with saved_tensors_hooks(lambda t: 4 * t, lambda t: t):
        y = z**2
    y.backward()
    seen["gradient of x ** 2 at AT with pack = 4 * t"] = z.grad.item()
    return seen


# %% mistake="once_per_tensor"
{
    r"packs\(lambda: x \* x \* x\)": "packs(lambda: x * x)",
    r"packs\(lambda: \(x \* x\) @ W\)": "packs(lambda: (x * W).exp())",
    r"(packs\(lambda: \(x \* x\)\.sum\(\)\.backward\(\)\))": r"\1 // 2",
}

# %% mistake="weights_are_not_packed"
{
    r"packs\(lambda: \(x @ W\)\.exp\(\)\)": "packs(lambda: x.exp().exp())",
    r"packs\(lambda: x @ W @ W\)": "packs(lambda: x.exp().exp())",
}

# %% mistake="reaches_other_threads"
{r"(?s)(target=[xy]\.exp.*?)thread\.start\(\)(\s+)thread\.join\(\)": r"\1thread.run()"}

# %% mistake="nested_pairs_compose"
{
    r"packs\(partly_inside_an_inner_pair\)": "packs(lambda: x.exp().exp())",
    r"packs\(inner_pair_first\)": "packs(lambda: (x * x).exp())",
}

# %% mistake="acts_in_backward"
{
    r"packs\(y\.backward\)": "packs(lambda: x.exp())",
    r"packs\(lambda: \(y\.backward\(\), x\.exp\(\)\)\)": "packs(lambda: x.exp().exp())",
    r'(one backward pass"\] = )calls\.count\("pack"\)': r'\1calls.count("pack") + calls.count("unpack")',
}

# %% mistake="unpacks_once"
{r'(in two backward passes"\] = )calls\.count\("unpack"\)': r'\1calls.count("unpack") // 2'}

# %% mistake="contents_are_checked"
{r"hooks\(lambda t: \d \* t, lambda t: t\)": r"hooks(lambda t: t.detach(), lambda t: t)"}

# %% mistake="factor_is_squared"
{r"hooks\(lambda t: 4 \* t(?=.*\n.*z\*\*2)": "hooks(lambda t: 16 * t"}

# %% mistake="forgets_the_two"
{r"(gradient of x \*\* 2 at [26] .*)z\.grad\.item\(\)": r"\1z.grad.item() / 2"}

# %% mistake="a_square_saves_twice"
{r'(unpacks of x \*\* 2 in two backward passes"\] = )calls\.count\("unpack"\)': r'\1calls.count("unpack") * 2'}
