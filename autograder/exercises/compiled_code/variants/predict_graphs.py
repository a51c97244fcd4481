# %% variant="flags_and_signs"
def graph_table():
    def on_dtype(x):
        return 2 * x if x.dtype == torch.float64 else 3 * x

    def on_both(x):
        if len(x) > 2 and x.sum() > 0:
            return 2 * x
        return 3 * x

    three = torch.ones(3)
    return {
        "if on the dtype": graphs(on_dtype, three),
        "if on length and numbers, length 3": graphs(on_both, three),
        "if on length and numbers, length 2": graphs(on_both, torch.ones(2)),
        "one if, -x and x": graphs(branching, -three, three),
        "lengths 5, 5, 3": graphs(choosing, torch.ones(5), torch.ones(5), three),
    }


# %% variant="an_item_in_the_middle"
def graph_table():
    def with_item(x):
        return x * x.sum().item()

    def nested_loops(x):
        for _ in range(2):
            for k in range(2):
                x = k + x.cos()
        return x

    three = torch.ones(3)
    return {
        "x * x.sum().item()": graphs(with_item, three),
        "loops of two in a loop of two": graphs(nested_loops, three),
        "one if, x twice": graphs(branching, three, three),
        "where, x and -x": graphs(choosing, three, -three),
        "lengths 5, 3, 4": graphs(choosing, torch.ones(5), three, torch.ones(4)),
    }


# %% variant="three_ifs"
def graph_table():
    def three_ifs(x):
        if x.sum() > 0:
            x = 2 * x
        if x.max() > 0:
            x = x.sin()
        if x.min() > 0:
            x = x.cos()
        return x

    three = torch.ones(3)
    return {
        "three ifs on numbers": graphs(three_ifs, three),
        "one if, x, -x and x": graphs(branching, three, -three, three),
        "float32, float32, float64": graphs(choosing, three, three, three.double()),
        "lengths 3, 4, 3": graphs(choosing, three, torch.ones(4), three),
    }


# %% variant="the_length_counts_turns"
def graph_table():
    def turns(x):
        for _ in range(len(x)):
            x = x.sin()
        return x

    def without_grad(x):
        if x.requires_grad:
            x = x.detach()
        return x.cos()

    three = torch.ones(3)
    return {
        "a loop of len(x)": graphs(turns, three),
        "if on requires_grad": graphs(without_grad, three.clone().requires_grad_()),
        "one if, lengths 3, 4, 5": graphs(branching, three, torch.ones(4), torch.ones(5)),
        "where, flags False and True": graphs(choosing, three, three.clone().requires_grad_()),
    }


# %% mistake="length_breaks"
{r"graphs\(on_both, torch\.ones\(2\)\)": "2"}

# %% mistake="flag_breaks"
{r"graphs\(without_grad, .*\),": "2,"}

# %% mistake="one_for_each_turn"
{r"graphs\(nested_loops, three\)": "4", r"graphs\(turns, three\)": "3"}

# %% mistake="loop_breaks"
{r"graphs\((nested_loops|turns), three\)": "2"}

# %% mistake="one_break_for_all"
{r"graphs\(three_ifs, three\)": "2"}

# %% mistake="other_branch_is_there"
{r"graphs\(branching, -three, three\)": "2", r"graphs\(branching, three, -three, three\)": "2"}

# %% mistake="all_anew"
{r"graphs\(branching, -three, three\)": "4", r"graphs\(branching, three, three\)": "4"}

# %% mistake="every_call"
{
    r"graphs\(choosing, torch\.ones\(5\), torch\.ones\(5\), three\)": "3",
    r"graphs\(choosing, three, -three\)": "2",
    r"graphs\(choosing, three, torch\.ones\(4\), three\)": "3",
}

# %% mistake="each_length"
{
    r"graphs\(choosing, torch\.ones\(5\), three, torch\.ones\(4\)\)": "3",
    r"graphs\(branching, three, torch\.ones\(4\), torch\.ones\(5\)\)": "6",
}

# %% mistake="one_for_all_lengths"
{
    r"graphs\(choosing, torch\.ones\(5\), three, torch\.ones\(4\)\)": "1",
    r"graphs\(branching, three, torch\.ones\(4\), torch\.ones\(5\)\)": "2",
}

# %% mistake="no_new_length"
{
    r"graphs\(choosing, torch\.ones\(5\), torch\.ones\(5\), three\)": "1",
    r"graphs\(choosing, three, torch\.ones\(4\), three\)": "1",
}

# %% mistake="two_for_each_if"
{r"graphs\(three_ifs, three\)": "6"}
