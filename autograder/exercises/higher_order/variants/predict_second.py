# %%
AT = [3.0, 5.0]
LOW = [1.0, 2.0]


# %% variant="third_derivatives"
def second_table():
    table = {}
    x = torch.tensor(AT, requires_grad=True)
    functions = {"x ** 2": lambda x: x**2, "3 * x": lambda x: 3 * x}
    for name, f in functions.items():
        (g,) = torch.autograd.grad(f(x), x, create_graph=True)
        table[f"{name}, create_graph=True"] = g.requires_grad
    (g,) = torch.autograd.grad(x**2, x, retain_graph=True)
    table["x ** 2, retain_graph=True"] = g.requires_grad

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (x**2).backward(create_graph=True)
    x.grad.backward()
    table["x.grad after both"] = x.grad.item()

    def three_times(f):
        y = f(x)
        for _ in range(3):
            (y,) = torch.autograd.grad(y, x, create_graph=True)

    table["3 * x * x three times"] = attempt(lambda: three_times(lambda x: 3 * x * x))
    table["x ** 3 three times"] = attempt(lambda: three_times(lambda x: x**3))

    math, any_kernel = SDPBackend.MATH, [SDPBackend.FLASH_ATTENTION, SDPBackend.MATH]
    table["attention twice, MATH in backward"] = attempt(lambda: attention_twice(any_kernel, math))
    return table


# %% variant="backward_only"
def second_table():
    table = {}
    x = torch.tensor(AT, requires_grad=True)
    (g,) = torch.autograd.grad(x**3, x, retain_graph=True)
    table["autograd.grad, retain_graph=True"] = g.requires_grad
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (x**3).backward(create_graph=True)
    table["backward(create_graph=True)"] = x.grad.requires_grad

    g, x.grad = x.grad, None
    (x**2 + g).backward()
    table["x.grad after both"] = x.grad.item()

    def twice(f):
        (g,) = torch.autograd.grad(f(x), x, create_graph=True)
        torch.autograd.grad(g, x)

    table["3 * x + x ** 2 twice"] = attempt(lambda: twice(lambda x: 3 * x + x**2))
    table["3 * x twice"] = attempt(lambda: twice(lambda x: 3 * x))

    math, any_kernel = SDPBackend.MATH, [SDPBackend.FLASH_ATTENTION, SDPBackend.MATH]
    table["attention twice"] = attempt(lambda: attention_twice(any_kernel, any_kernel))
    table["attention twice, MATH in forward"] = attempt(lambda: attention_twice(math, any_kernel))
    return table


# %% variant="two_variables"
def second_table():
    table = {}
    a, x = torch.tensor(AT, requires_grad=True), torch.tensor(LOW, requires_grad=True)
    (g,) = torch.autograd.grad(a * x, x, create_graph=True)
    table["a * x, create_graph=True"] = g.requires_grad
    (g,) = torch.autograd.grad(a.detach() * x, x, create_graph=True)
    table["a.detach() * x, create_graph=True"] = g.requires_grad

    (g,) = torch.autograd.grad(x**4, x, create_graph=True)
    (a * g).backward()
    table["x.grad after both"] = x.grad.item()

    def by_x_and_then_by(variable):
        (g,) = torch.autograd.grad(a * x, x, create_graph=True)
        torch.autograd.grad(g, variable)

    table["a * x by x, then by a"] = attempt(lambda: by_x_and_then_by(a))
    table["a * x by x, then by x"] = attempt(lambda: by_x_and_then_by(x))

    math, any_kernel = SDPBackend.MATH, [SDPBackend.FLASH_ATTENTION, SDPBackend.MATH]
    table["attention twice"] = attempt(lambda: attention_twice(any_kernel, any_kernel))
    table["attention twice, MATH in both passes"] = attempt(lambda: attention_twice(math, math))
    return table


# %% variant="both_options"
def second_table():
    table = {}
    x = torch.tensor(LOW, requires_grad=True)
    for retain, create in ((False, True), (True, False)):
        (g,) = torch.autograd.grad(x**4, x, retain_graph=retain, create_graph=create)
        table[f"retain_graph={retain}, create_graph={create}"] = g.requires_grad

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (x**4).backward(create_graph=True)
    x.grad.backward()
    table["x.grad after both"] = x.grad.item()

    def twice(f, **options):
        (g,) = torch.autograd.grad(f(x), x, **options)
        torch.autograd.grad(g, x)

    table["3 * x twice"] = attempt(lambda: twice(lambda x: 3 * x, create_graph=True))
    table["3 * x * x twice, retain_graph=True"] = attempt(lambda: twice(lambda x: 3 * x * x, retain_graph=True))

    math, any_kernel = SDPBackend.MATH, [SDPBackend.FLASH_ATTENTION, SDPBackend.MATH]
    table["attention twice, MATH in backward"] = attempt(lambda: attention_twice(any_kernel, math))
    table["attention twice, MATH in forward"] = attempt(lambda: attention_twice(math, any_kernel))
    return table


# %% mistake="retain_is_enough"
{
    r'(table\[".*retain_graph=True"\] = )g\.requires_grad': r"\1True",
    r'(create_graph=\{create\}"\] = )g\.requires_grad': r"\1g.requires_grad or retain",
}

# %% mistake="linear_gives_zero"
{r'(table\["3 \* x twice"\] = )attempt.*': r'\1"accepted"'}

# %% mistake="second_derivative_alone"
{r"(?m)^    x\.grad\.backward\(\)": "    g, x.grad = x.grad, None; g.backward()"}

# %% mistake="attention_is_like_the_rest"
{r'(table\["attention twice"\] = )attempt.*': r'\1"accepted"'}

# %% mistake="choice_counts_in_backward"
{
    r'(MATH in backward"\] = )attempt.*(?=\n.*MATH in forward)': r'\1"accepted"',
    r'(MATH in backward"\] = "accepted"\n.*MATH in forward"\] = )attempt.*': r'\1"RuntimeError"',
}

# %% mistake="either_place_will_do"
{r'(MATH in backward"\] = )attempt.*': r'\1"accepted"'}

# %% mistake="never_recorded"
{
    r'(table\["(x \*\* 2, |a \* x, |backward\()create_graph=True\)?"\] = )(g|x\.grad)\.requires_grad': r"\1False",
    r'(table\[f"\{name\}, create_graph=True"\] = )g\.requires_grad': r"\1False",
    r'(create_graph=\{create\}"\] = )g\.requires_grad': r"\1False",
}

# %% mistake="added_twice"
{r"(?m)^    x\.grad\.backward\(\)": "    (g,) = torch.autograd.grad(x.grad, x); x.grad = 2 * x.grad + g"}

# %% mistake="math_fails_as_well"
{r'(table\["attention twice, MATH in (forward|both passes)"\] = )attempt.*': r'\1"RuntimeError"'}

# %% mistake="multiplied"
{r"(?m)^    x\.grad\.backward\(\)": "    (g,) = torch.autograd.grad(x.grad, x); x.grad = g * x.grad"}
