# %%
B = [4.0, 6.0, 7.0]
FACTOR = [2, 3]


# %% variant="called_directly"
def function_table():
    a, b = torch.tensor(2.0, requires_grad=True), torch.tensor(B)
    product = Tenfold.forward(None, a, b)
    table = {"recording in forward, called directly": seen["recording in forward"]}
    (3 * product).backward()
    table["a.grad after the direct call"] = a.grad.item()

    result = Tenfold.apply(a, b)
    table["recording in forward"] = seen["recording in forward"]
    torch.autograd.grad(result, a, retain_graph=True)
    table["recording in backward, retain_graph=True"] = seen["recording in backward"]
    table["needs_input_grad"] = seen["needs_input_grad"]

    table["node of Tenfold.apply(...)"] = result.grad_fn.name()
    table["TooFew.apply(a, b).backward()"] = attempt(lambda: TooFew.apply(a, b).backward())
    return table


# %% variant="a_chain"
def function_table():
    class Ratio(Tenfold):
        @staticmethod
        def forward(ctx, a, b):
            return a / b

    a, b = torch.tensor(2.0, requires_grad=True), torch.tensor(B)
    ratio = Ratio.forward(None, a, b)
    first = Tenfold.apply(a, b)
    result = Tenfold.apply(first, b)
    torch.autograd.grad(result, a, create_graph=True)
    table = {"recording in backward, create_graph=True": seen["recording in backward"]}
    (3 * result).backward()
    table["recording in backward after that, no option"] = seen["recording in backward"]
    table["needs_input_grad"] = seen["needs_input_grad"]
    table["a.grad"] = a.grad.item()

    table["node of Ratio.forward(...)"] = ratio.grad_fn.name()
    table["Ratio.apply(a, b).backward()"] = attempt(lambda: Ratio.apply(a, b).backward())
    table["TooFew.apply(a, b) without backward"] = attempt(lambda: TooFew.apply(a, b))
    return table


# %% variant="arguments_swapped"
def function_table():
    a, b = torch.tensor(2.0, requires_grad=True), torch.tensor(B)
    result = Tenfold.apply(b, a)
    with torch.enable_grad():
        (3 * result + FACTOR * a).backward()
    table = {"recording in backward, inside enable_grad": seen["recording in backward"]}
    table["needs_input_grad of Tenfold.apply(b, a)"] = seen["needs_input_grad"]
    table["a.grad"] = a.grad.item()
    with torch.enable_grad():
        Tenfold.apply(a, b)
    table["recording in forward, inside enable_grad"] = seen["recording in forward"]

    few = TooFew.apply(a, b)
    table["node of TooFew.apply(...)"] = few.grad_fn.name()
    table["TooFew.apply(b, b), no input requires grad"] = attempt(lambda: TooFew.apply(b, b))
    table["one gradient for two inputs"] = attempt(lambda: TooFew.apply(a, a).backward())
    return table


# %% variant="three_inputs"
def function_table():
    class Three(Tenfold):
        @staticmethod
        def forward(ctx, a, b, c):
            return a * b * c

    a = torch.tensor(2.0, requires_grad=True)
    (5 * Tenfold.apply(a, a) + a).backward()
    table = {**seen, "a.grad": a.grad.item()}
    torch.autograd.grad(Tenfold.apply(a, 2 * a), a, create_graph=True)
    table["recording in backward, create_graph=True"] = seen["recording in backward"]

    table["node of Tenfold.apply(...) + 1"] = (Tenfold.apply(a, a) + 1).grad_fn.name()
    table["two entries for three inputs"] = attempt(lambda: Three.apply(a, a, a).backward())
    return table


# %% mistake="derivative_is_checked"
{
    r'(table\["a\.grad"\] = )a\.grad\.item\(\)(?=\n\n    table\["node of Ratio)': r"\1(3 * B**2)",
    r'\*\*seen, "a\.grad": a\.grad\.item\(\)': r'**seen, "a.grad": 10 * a.item() + 1',
}

# %% mistake="incoming_gradient_is_one"
{r"\(3 \* result\)\.backward\(\)": "result.backward()"}

# %% mistake="forward_is_recorded"
{
    r'(table\["recording in forward"\] = ).*': r"\1True",
    r'(table\["recording in forward, inside enable_grad"\] = ).*': r"\1True",
    r'\*\*seen, "a\.grad"': '**seen, "recording in forward": True, "a.grad"',
}

# %% mistake="backward_is_recorded"
{
    r'(table\["recording in backward, retain_graph=True"\] = ).*': r"\1True",
    r'(table\["recording in backward after that, no option"\] = ).*': r"\1True",
    r'("recording in backward, inside enable_grad": )seen\["recording in backward"\]': r"\1True",
    r'\*\*seen, "a\.grad"': '**seen, "recording in backward": True, "a.grad"',
}

# %% mistake="backward_is_never_recorded"
{
    r'(table\["recording in backward, create_graph=True"\] = ).*': r"\1False",
    r'("recording in backward, create_graph=True": )seen\["recording in backward"\]': r"\1False",
}

# %% mistake="every_input_needs"
{r'(table\["needs_input_grad.*"\] = ).*': r"\1(True, True)"}

# %% mistake="forward_makes_the_node"
{
    r'(table\["a\.grad after the direct call"\] = ).*': r"\1torch.autograd.grad(3 * Tenfold.apply(a, b), a)[0].item()",
    r"= Ratio\.forward\(None, a, b\)": "= Ratio.apply(a, b)",
}

# %% mistake="too_few_are_filled"
{
    r'(table\["TooFew\.apply\(a, b\)\.backward\(\)"\] = ).*': r'\1"accepted"',
    r'(table\["one gradient for two inputs"\] = ).*': r'\1"accepted"',
    r'(table\["two entries for three inputs"\] = ).*': r'\1"accepted"',
}

# %% mistake="flags_in_other_order"
{r'(table\["needs_input_grad"\] = ).*': r"\1(False, True)"}

# %% mistake="one_flag_for_all"
{
    r'(table\["needs_input_grad.*"\] = ).*': r"\1True",
    r'\*\*seen, "a\.grad"': '**seen, "needs_input_grad": True, "a.grad"',
}

# %% mistake="derivative_times_ten"
{
    r'(table\["a\.grad"\] = )a\.grad\.item\(\)(?=\n\n    table\["node of Ratio)': r"\1(10 * 3 * B**2)",
}

# %% mistake="node_without_its_number"
{r"(node of (Ratio|.*\+ 1).*\.name\(\))": r"\1[:-1]"}
