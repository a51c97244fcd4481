# %%
FIRST = [3.0, 6.0]
SECOND = [4.0, 5.0]


# %% variant="forward_in_a_worker"
def engine_table():
    seen, read = {}, {}
    w = torch.tensor(1.0, requires_grad=True)

    y = in_thread(lambda: (3 * w).exp())  # the forward pass runs there
    handle = y.register_hook(lambda _: seen.update({"the hook runs in": here()}))
    y.backward(retain_graph=True)
    handle.remove()
    seen["two passes through one graph"] = in_thread(y.backward) or "accepted"

    w.grad, both_have_added = None, threading.Barrier(2)

    def contribute(number, factor):
        (factor * w).backward()
        both_have_added.wait()
        read[number] = w.grad.item()

    together(lambda: contribute(1, FIRST), lambda: contribute(2, SECOND))
    for number in (1, 2):
        seen[f"w.grad read by thread {number}"] = read[number]

    def without_grad():
        with torch.no_grad():
            return (2 * w).requires_grad

    seen["recorded in a thread that enters no_grad"] = in_thread(without_grad)
    in_thread(lambda: torch.autograd.set_detect_anomaly(True))
    seen["anomaly mode after a thread has switched it on"] = torch.is_anomaly_enabled()
    torch.autograd.set_detect_anomaly(False)
    return seen


# %% variant="a_leaf_each"
def engine_table():
    seen, read = {}, {}
    w = torch.tensor(1.0, requires_grad=True)

    y = (3 * w).exp()
    in_thread(lambda: y.register_hook(lambda _: seen.update({"the hook runs in": here()})))
    y.backward()
    y = w + 1
    in_thread(y.backward)
    seen["two passes through one graph"] = in_thread(y.backward) or "accepted"

    both_have_added = threading.Barrier(2)

    def contribute(number, factor):
        w = torch.tensor(1.0, requires_grad=True)
        (factor * w).backward()
        both_have_added.wait()
        read[number] = w.grad.item()

    together(lambda: contribute(1, FIRST), lambda: contribute(2, SECOND))
    for number in (1, 2):
        seen[f"w.grad read by thread {number}, a w of its own"] = read[number]

    in_thread(lambda: torch.set_grad_enabled(False))
    seen["recorded after a thread has switched recording off"] = (2 * w).requires_grad
    torch.autograd.set_detect_anomaly(True)
    in_thread(lambda: torch.autograd.set_detect_anomaly(False))
    seen["anomaly mode after a thread has switched it off"] = torch.is_anomaly_enabled()
    torch.autograd.set_detect_anomaly(False)
    return seen


# %% variant="one_after_the_other"
def engine_table():
    seen = {}
    w = torch.tensor(1.0, requires_grad=True)

    y = in_thread(lambda: (3 * w).exp())  # the forward pass runs there
    y.register_hook(lambda _: seen.update({"the hook runs in": here()}))
    torch.autograd.grad(y, w)
    h = (3 * w).exp()
    first, second = 2 * h, 5 * h
    in_thread(first.backward)
    seen["two passes through one graph"] = in_thread(second.backward) or "accepted"

    w.grad = None

    def contribute(number, factor):
        (factor * w).backward()
        seen[f"w.grad read by thread {number}"] = w.grad.item()

    in_thread(lambda: contribute(1, FIRST))
    in_thread(lambda: contribute(2, SECOND))

    def start_another():
        with torch.no_grad():
            return in_thread(lambda: (2 * w).requires_grad)

    seen["recorded in a thread that a thread starts under no_grad"] = in_thread(start_another)
    in_thread(lambda: torch.autograd.set_detect_anomaly(True))
    seen["anomaly mode in another thread"] = in_thread(torch.is_anomaly_enabled)
    torch.autograd.set_detect_anomaly(False)
    return seen


# %% variant="two_passes_each"
def engine_table():
    seen, read, packed = {}, {}, []
    w = torch.tensor(1.0, requires_grad=True)

    y = (3 * w).exp()
    handle = y.register_hook(lambda _: seen.update({"the hook runs in": here()}))
    in_thread(lambda: torch.autograd.grad(y, w))
    handle.remove()
    seen["two passes through one graph"] = in_thread(y.backward) or "accepted"

    all_have_added = threading.Barrier(2)

    def contribute(number, factor):
        (factor * w).backward()
        (factor * w).backward()
        all_have_added.wait()
        read[number] = w.grad.item()

    together(lambda: contribute(1, FIRST), lambda: contribute(2, SECOND))
    for number in (1, 2):
        seen[f"w.grad read by thread {number}"] = read[number]

    with torch.autograd.graph.saved_tensors_hooks(packed.append, lambda t: t):
        square = in_thread(lambda: w.detach().requires_grad_().square())
        square.sin()
    seen["packs of sin, its input from a thread"] = len(packed)
    torch.autograd.set_detect_anomaly(True)
    seen["anomaly mode in a thread of a thread"] = in_thread(lambda: in_thread(torch.is_anomaly_enabled))
    torch.autograd.set_detect_anomaly(False)
    return seen


# %% mistake="backward_has_its_thread"
{
    r'(y = in_thread(?s:.*?)"the hook runs in": )here\(\)': r'\1"worker"',
    r"in_thread\(lambda: torch\.autograd\.grad\(y, w\)\)": "torch.autograd.grad(y, w)",
}

# %% mistake="threads_see_their_own"
{
    r'(by thread \{number\}"\] = )read\[number\]': r"\1read[number] * {1: FIRST, 2: SECOND}[number] / (FIRST + SECOND)",
    r'(by thread \{number\}"\] = )w\.grad\.item\(\)': r"\1factor",
}

# %% mistake="last_thread_wins"
{r'(by thread \{number\}"\] = )read\[number\]': r"\1read[number] * SECOND / (FIRST + SECOND)"}

# %% mistake="first_reads_early"
{r'(by thread \{number\}"\] = )read\[number\]': r"\1read[number] * {1: FIRST / (FIRST + SECOND), 2: 1}[number]"}

# %% mistake="second_reads_early"
{r'(by thread \{number\}"\] = )read\[number\]': r"\1read[number] * {1: 1, 2: SECOND / (FIRST + SECOND)}[number]"}

# %% mistake="shared_graph_is_safe"
{
    r"in_thread\(second\.backward\) or": "",
    r"(?s)(in_thread\(lambda: torch\.autograd\.grad\(y, w\)\).*)in_thread\(y\.backward\) or": r"\1",
}

# %% mistake="no_grad_reaches_threads"
{r'(starts under no_grad"\] = ).*': r"\1False"}

# %% mistake="hooks_reach_threads"
{r'(its input from a thread"\] = )len\(packed\)': r"\1len(packed) + 1"}

# %% mistake="hooks_pack_for_each_factor"
{r'(its input from a thread"\] = )len\(packed\)': r"\1len(packed) + 2"}

# %% mistake="anomaly_stays_home"
{r'(seen\["anomaly mode .*"\] = )(.*)': r"\1not \2"}
