# %%
PASSES = [2, 3]


# %% variant="part_of_the_functions"
def repeats_table():
    return {
        "first two": calls(lambda a, b, c: chain(kept_out(a, b), c)),
        "last two": calls(lambda a, b, c: chain(a, kept_out(b, c))),
        "last two, no early stop": calls(lambda a, b, c: chain(a, to_the_end(b, c))),
        "first and last": calls(lambda a, b, c: chain(kept_out(a), b, kept_out(c))),
        "last two, PASSES backward passes": calls(lambda a, b, c: chain(a, kept_out(b, c)), passes=PASSES),
    }


# %% variant="segments"
def repeats_table():
    def segments(count):
        return lambda a, b, c: lambda x: checkpoint_sequential([a, b, c], count, x, use_reentrant=False)

    return {
        "one checkpoint": calls(kept_out),
        "1 segment": calls(segments(1)),
        "2 segments": calls(segments(2)),
        "3 segments": calls(segments(3)),
        "2 segments, PASSES backward passes": calls(segments(2), passes=PASSES),
        "no backward pass": calls(segments(2), passes=0),
    }


# %% variant="in_another_order"
def repeats_table():
    return {
        "a, c, b": calls(lambda a, b, c: kept_out(a, c, b)),
        "c, b, a": calls(lambda a, b, c: kept_out(c, b, a)),
        "b, a, c": calls(lambda a, b, c: kept_out(b, a, c)),
        "b, a, c, no early stop": calls(lambda a, b, c: to_the_end(b, a, c)),
        "b, c, twice": calls(lambda a, b, c: kept_out(b, c, c)),
        "a, c outside": calls(lambda a, b, c: chain(a, kept_out(b), c)),
    }


# %% variant="nested_and_repeated"
def repeats_table():
    def inside(a, b, c):
        return kept_out(kept_out(a), b, c)

    def two_inside(a, b, c):
        return kept_out(kept_out(kept_out(a)), b, c)

    return {
        "a checkpoint inside": calls(inside),
        "two inside": calls(two_inside),
        "one checkpoint, PASSES backward passes": calls(kept_out, passes=PASSES),
        "no early stop, PASSES backward passes": calls(to_the_end, passes=PASSES),
        "no backward pass": calls(inside, passes=0),
        "no checkpoint, PASSES backward passes": calls(chain, passes=PASSES),
    }


# %% mistake="repeats_the_whole"
{
    r"calls\(kept_out\)": "[2, 2, 2]",
    r'("last two": .*)kept_out': r"\1to_the_end",
    r'("b, a, c": .*)kept_out': r"\1to_the_end",
    r"calls\(kept_out, passes": "calls(to_the_end, passes",
}

# %% mistake="keeps_what_it_recomputed"
{r", passes=PASSES": ""}

# %% mistake="early_stop_is_free"
{r"to_the_end": "kept_out"}

# %% mistake="what_saves_nothing_is_skipped"
{r'("(?:a, c, b|c, b, a)": calls\(lambda a, b, c: kept_out\().*(\)\),)': r"\1a, b, c\2"}

# %% mistake="inner_runs_twice"
{r"return kept_out\(kept_out\(a\), b, c\)": "return kept_out(a, b, c)"}

# %% mistake="levels_double_calls"
{r"calls\(inside\)(?=,)": "[4, 2, 1]"}

# %% mistake="each_repeats_itself"
{r"b, kept_out\(c\)\)\)": "b, to_the_end(c, torch.sin)))"}

# %% mistake="backward_calls_functions"
{r"calls\(chain, passes=PASSES\)": "[1 + PASSES] * 3"}
