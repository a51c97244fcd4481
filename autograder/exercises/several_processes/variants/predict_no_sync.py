# %%
LOW = [1.0, 5.0]
HIGH = [9.0, 13.0]


# %% variant="three_micro_batches"
def exchanges():
    table = {}
    data = [[LOW, HIGH], [10.0, 24.0], [2.0, 8.0]]

    pair = Pair(data)
    with pair.no_sync():
        pair.backward(pair.forward(0))
        pair.backward(pair.forward(1))
    table["both in no_sync: gradients"] = kept = pair.gradients()
    pair.backward(pair.forward(2))
    table["then a pass outside: gradients"] = pair.gradients()

    pair = Pair(data)
    for i in range(3):
        losses = pair.forward(i)
        with pair.no_sync():
            pair.backward(losses)
    table["backward in no_sync: all-reduces"] = pair.calls

    pair = Pair(data)
    with pair.no_sync():
        losses = pair.forward(1)
    pair.backward(losses)
    table["forward in no_sync: all-reduces"] = pair.calls
    return table


# %% variant="second_forward_is_quiet"
def exchanges():
    table = {}
    data = [[LOW, HIGH], [10.0, 24.0]]

    pair = Pair(data)
    first = pair.forward(0)
    with pair.no_sync():
        second = pair.forward(1)
    pair.backward(first)
    table["forwards, one backward: gradients"] = pair.gradients()
    pair.backward(second)
    table["two backwards: gradients"] = pair.gradients()
    table["two backwards: all-reduces"] = pair.calls

    pair = Pair(data)
    losses = pair.forward(0)
    with pair.no_sync():
        pair.backward(losses)
        pair.backward(pair.forward(1))
    table["one backward in no_sync, one pass in no_sync: all-reduces"] = pair.calls
    return table


# %% variant="three_forwards"
def exchanges():
    table = {}
    data = [[LOW, HIGH], [10.0, 24.0], [2.0, 8.0]]

    pair = Pair(data)
    first, second, third = (pair.forward(i) for i in range(3))
    pair.backward(first)
    table["forwards, one backward: gradients"] = pair.gradients()
    pair.backward(second)
    table["two backwards: gradients"] = pair.gradients()
    pair.backward(third)
    table["three backwards: all-reduces"] = pair.calls

    pair = Pair(data)
    with pair.no_sync():
        pair.backward(pair.forward(0))
    table["both in no_sync: gradients"] = kept = pair.gradients()
    pair.backward(pair.forward(2))
    table["then a pass outside: gradients"] = pair.gradients()
    return table


# %% variant="one_pass_and_two_forwards"
def exchanges():
    table = {}
    data = [[LOW, HIGH], [10.0, 24.0], [2.0, 8.0]]

    pair = Pair(data)
    with pair.no_sync():
        losses = pair.forward(0)
        pair.backward(losses)
    table["both in no_sync: gradients"] = pair.gradients()
    first, second = pair.forward(1), pair.forward(2)
    pair.backward(first)
    pair.backward(second)
    table["then two backwards: gradients"] = pair.gradients()
    table["then two backwards: all-reduces"] = pair.calls

    pair = Pair(data)
    with pair.no_sync():
        losses = pair.forward(1)
    pair.backward(losses)
    table["forward in no_sync: all-reduces"] = pair.calls
    return table


# %% mistake="flag_read_in_backward"
{
    r'(table\["backward in no_sync: all-reduces"\] = )pair\.calls': r"\g<1>0",
    r'(table\["one backward in no_sync, .*\] = )pair\.calls': r"\g<1>0",
}

# %% mistake="forward_does_not_count"
{r'(table\["forward in no_sync: all-reduces"\] = )pair\.calls': r"\g<1>1"}

# %% mistake="quiet_pass_is_averaged"
{r'(table\["both in no_sync: gradients"\] = (kept = )?)pair\.gradients\(\)': r"\1[sum(pair.gradients()) / 2] * 2"}

# %% mistake="averages_the_last_pass_alone"
{
    r'(table\["then a pass outside: gradients"\] = )pair\.gradients\(\)': (
        r"\1[g - sum(kept) / 2 + k for g, k in zip(pair.gradients(), kept)]"
    )
}

# %% mistake="forgets_the_earlier_pass"
{
    r'(table\["then a pass outside: gradients"\] = )pair\.gradients\(\)': (
        r"\1[g - sum(kept) / 2 for g in pair.gradients()]"
    )
}

# %% mistake="each_backward_is_averaged"
{
    r'(table\["(then )?two backwards: all-reduces"\] = )pair\.calls': r"\g<1>2",
    r'(table\["three backwards: all-reduces"\] = )pair\.calls': r"\g<1>3",
}

# %% mistake="late_pass_is_in_the_mean"
{r'(table\["(then )?two backwards: gradients"\] = )pair\.gradients\(\)': r"\1[sum(pair.gradients()) / 2] * 2"}

# %% mistake="exchange_waits_for_all"
{r'(table\["forwards, one backward: gradients"\] = )pair\.gradients\(\)': r"\1[*pair.data[0]]"}

# %% mistake="means_are_sums"
{r'(table\["forwards, one backward: gradients"\] = )pair\.gradients\(\)': r"\1[2 * g for g in pair.gradients()]"}
