# %% variant="one_exponential"
def compiled_table():
    def rise(x):
        return x.exp().sum()

    torch.compiler.reset()
    table = {
        "saved by rise": count_saved(rise),
        "saved by compiled rise": count_saved(torch.compile(rise, backend="aot_eager")),
        "rise: plain, then retain_graph": outcome(rise, plain, keep_graph),
        "rise: retain_graph, then plain": outcome(rise, keep_graph, plain),
        "rise: second derivative, eager": outcome(rise, second_derivative, backend="eager"),
    }
    torch.compiler.reset()
    return table


# %% variant="a_product"
def compiled_table():
    def square(x):
        return (x * x).sum()

    torch.compiler.reset()
    table = {
        "saved by square": count_saved(square),
        "saved by compiled square": count_saved(torch.compile(square, backend="aot_eager")),
        "square: plain, then retain_graph": outcome(square, plain, keep_graph),
        "square: second derivative, aot_eager": outcome(square, second_derivative),
        "growth: retain_graph, twice": outcome(growth, keep_graph, keep_graph),
    }
    torch.compiler.reset()
    return table


# %% variant="a_bend"
def compiled_table():
    def bend(x):
        return (x.tanh() ** 2).sum()

    torch.compiler.reset()
    table = {
        "saved by bend": count_saved(bend),
        "saved by compiled bend": count_saved(torch.compile(bend, backend="aot_eager")),
        "bend: plain, twice": outcome(bend, plain, plain),
        "bend: plain, then retain_graph, aot_eager": outcome(bend, plain, keep_graph),
        "bend: plain, then retain_graph, eager": outcome(bend, plain, keep_graph, backend="eager"),
    }
    torch.compiler.reset()
    return table


# %% variant="a_root"
def compiled_table():
    def root(x):
        return x.sqrt().sum()

    torch.compiler.reset()
    table = {
        "saved by root": count_saved(root),
        "saved by compiled root": count_saved(torch.compile(root, backend="aot_eager")),
        "root: retain_graph": outcome(root, keep_graph),
        "root: plain, then second derivative": outcome(root, plain, second_derivative),
        "root: second derivative, eager": outcome(root, second_derivative, backend="eager"),
    }
    torch.compiler.reset()
    return table


# %% mistake="saves_as_eager"
{r'("saved by compiled (square|bend)": )count_saved\(.*\),': r"\g<1>2,"}

# %% mistake="retain_graph_works"
{r"outcome\((rise|bend), plain, keep_graph\)": '"accepted"'}

# %% mistake="retain_graph_fails_at_first"
{r"outcome\((rise, keep_graph, plain|growth, keep_graph, keep_graph|root, keep_graph)\)": '"RuntimeError"'}

# %% mistake="retain_graph_never_works"
{r"outcome\(square, plain, keep_graph\)": '"RuntimeError"'}

# %% mistake="differentiates_twice"
{r"outcome\((square|root, plain), second_derivative\)": '"accepted"'}

# %% mistake="eager_backend_fails"
{r'outcome\(\w+, .*backend="eager"\)': '"RuntimeError"'}

# %% mistake="sum_saves_too"
{r'("saved by (rise|root)": )count_saved\(\w+\)': r"\g<1>2", r'("saved by (square|bend)": )count_saved\(\w+\)': r"\g<1>3"}

# %% mistake="saves_nothing"
{r'("saved by compiled square": )count_saved\(.*\),': r"\g<1>0,"}
