# %% variant="two_branches_of_one"
def graph_table():
    def on_dimensions(x):
        return x.sum(0) if x.dim() == 2 else x

    def on_dtype(x):
        return x.exp() if x.dtype == torch.float64 else x.sin()

    def loop(x):
        for factor in (2, 3, 4, 5):
            x = factor * x
        return x

    def three_ifs(x):
        if x.sum() > 0:
            x = 2 * x
        if x.max() > 0:
            x = x.sin()
        if x.min() > 0:
            x = x.cos()
        return x

    four = torch.ones(4)
    return {
        "if on the dimensions": graphs(on_dimensions, four),
        "if on the dtype": graphs(on_dtype, four),
        "a loop of four": graphs(loop, four),
        "three ifs on numbers": graphs(three_ifs, four),
        "one if, -x and x": graphs(branching, -four, four),
        "lengths 4, 4, 4, 5": graphs(choosing, four, four, four, torch.ones(5)),
        "lengths 4, 6, 8, 10": graphs(choosing, four, *(torch.ones(n) for n in (6, 8, 10))),
    }

# %% variant="other_orders"
def graph_table():
    def on_shape(x):
        return x.reshape(-1) if x.shape[0] > 1 else x

    def on_device(x):
        return x + 1 if x.is_cuda else x + 2

    def loop(x):
        total = 0
        for row in range(len(x)):
            total = total + x[row].cos()
        return total

    def expression_and_if(x):
        x = 2 * x if x.sum() > 0 else x
        if x.max() > 0:
            x = x.sin()
        return x

    five = torch.ones(5)
    return {
        "if on the shape": graphs(on_shape, five),
        "if on the device": graphs(on_device, five),
        "a loop over five entries": graphs(loop, five),
        "an if in an expression, and one more": graphs(expression_and_if, five),
        "one if, x, -x, x": graphs(branching, five, -five, five),
        "lengths 5, 5, 7": graphs(choosing, five, five, torch.ones(7)),
        "lengths 5, 7, 9": graphs(choosing, five, torch.ones(7), torch.ones(9)),
    }

# %% variant="no_number_at_all"
def graph_table():
    def on_layout(x):
        return x + 1 if x.is_contiguous() else x.contiguous()

    def on_number_of_entries(x):
        return x.sum() if x.numel() > 100 else x.prod()

    def loop(x):
        while x.dim() < 4:
            x = x[None]
        return x

    def two_ifs(x):
        if x.norm() > 1:
            x = x / 2
        if (x == 0).any():
            x = x + 1
        return x

    six = torch.ones(6)
    return {
        "if on the layout": graphs(on_layout, six),
        "if on the number of entries": graphs(on_number_of_entries, six),
        "a loop until there are four dimensions": graphs(loop, six),
        "two ifs on numbers": graphs(two_ifs, six),
        "where, x and -x": graphs(choosing, six, -six),
        "lengths 6, 6, 6": graphs(choosing, six, six, six),
        "lengths 6, 5, 4, 3": graphs(choosing, six, *(torch.ones(n) for n in (5, 4, 3))),
    }

# %% variant="nested"
def graph_table():
    def on_two_lengths(x):
        if x.shape[0] > 1 and x.shape[0] < 9:
            return x.sin()
        return x.cos()

    def on_recording(x):
        return x.exp() if torch.is_grad_enabled() else x

    def loops(x):
        for _ in range(2):
            for _ in range(3):
                x = x.sin()
        return x

    def nested(x):
        if x.sum() > 0:
            x = 2 * x
            if x.max() > 1:
                x = x.sin()
        return x

    two = torch.ones(2)
    return {
        "if on two bounds of the length": graphs(on_two_lengths, two),
        "if on recording": graphs(on_recording, two),
        "a loop in a loop": graphs(loops, two),
        "an if inside an if": graphs(nested, two),
        "one if, x and 2x": graphs(branching, two, 2 * two),
        "lengths 2, 2, 3, 3": graphs(choosing, two, two, torch.ones(3), torch.ones(3)),
        "lengths 2, 3, 4, 5, 6": graphs(choosing, two, *(torch.ones(n) for n in (3, 4, 5, 6))),
    }

# %% mistake="length_breaks"
{r'("if on (the dimensions|the shape|the number of entries|two bounds of the length)": )graphs\(.*\)': r"\g<1>2"}

# %% mistake="flag_breaks"
{r'("if on (the dtype|the device|the layout|recording)": )graphs\(.*\)': r"\g<1>2"}

# %% mistake="one_for_each_turn"
{
    r'("a loop of four": )graphs\(.*\)': r"\g<1>4",
    r'("a loop over five entries": )graphs\(.*\)': r"\g<1>5",
    r'("a loop until there are four dimensions": )graphs\(.*\)': r"\g<1>3",
    r'("a loop in a loop": )graphs\(.*\)': r"\g<1>6",
}

# %% mistake="loop_breaks"
{r'("a loop [^"]*": )graphs\(.*\)': r"\g<1>2"}

# %% mistake="one_break_for_all"
{
    r'("three ifs on numbers": )graphs\(.*\)': r"\g<1>2",
    r'("an if in an expression, and one more": )graphs\(.*\)': r"\g<1>2",
    r'("two ifs on numbers": )graphs\(.*\)': r"\g<1>2",
    r'("an if inside an if": )graphs\(.*\)': r"\g<1>2",
}

# %% mistake="both_branches"
{
    r'("three ifs on numbers": )graphs\(.*\)': r"\g<1>7",
    r'("(two ifs on numbers|an if in an expression, and one more)": )graphs\(.*\)': r"\g<1>5",
}

# %% mistake="other_branch_is_there"
{r'("one if, (-x and x|x, -x, x)": )graphs\(.*\)': r"\g<1>2"}

# %% mistake="all_anew"
{r'("one if, (-x and x|x, -x, x|x and 2x)": )graphs\(.*\)': r"\g<1>4"}

# %% mistake="every_call"
{
    r'("lengths 4, 4, 4, 5": )graphs\(.*\)': r"\g<1>4",
    r'("lengths 5, 5, 7": )graphs\(.*\)': r"\g<1>3",
    r'("lengths 6, 6, 6": )graphs\(.*\)': r"\g<1>3",
    r'("lengths 2, 2, 3, 3": )graphs\(.*\)': r"\g<1>4",
}

# %% mistake="each_length"
{
    r'("lengths 4, 6, 8, 10": )graphs\(.*\)': r"\g<1>4",
    r'("lengths 5, 7, 9": )graphs\(.*\)': r"\g<1>3",
    r'("lengths 6, 5, 4, 3": )graphs\(.*\)': r"\g<1>4",
    r'("lengths 2, 3, 4, 5, 6": )graphs\(.*\)': r"\g<1>5",
}

# %% mistake="one_for_all_lengths"
{r'("lengths (4, 6, 8, 10|5, 7, 9|6, 5, 4, 3|2, 3, 4, 5, 6)": )graphs\(.*\)': r"\g<1>1"}

# %% mistake="no_new_length"
{r'("lengths (4, 4, 4, 5|5, 5, 7|2, 2, 3, 3)": )graphs\(.*\)': r"\g<1>1"}
