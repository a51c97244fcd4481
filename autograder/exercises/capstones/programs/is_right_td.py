# %%
import torch


def learn(
    parameters,
    value,
    steps,
    gamma,
    lam,
    alpha,
    *,
    resets="either",
    ends,
    through_next=False,
    factor=1.0,
    decay=None,
    stale=False,
    leaks=False,
    carries=False,
    late="",
):
    """Run TD(λ) with one fault or none. Changes `parameters` in place, and returns the TD errors.

    `value(state)` is the value of a state. `resets` says when traces are cleared; "early" is before the last step of an
    episode. `ends` says after which steps the next value is 0. If `through_next`, the gradient is that of the TD error.
    `factor` multiplies each step, `decay` replaces gamma * lam. If `stale`, weights move along the trace of the step
    before. If `leaks`, the last update is added to each gradient. If `carries`, the value of a state is that which the
    step before computed. `late` says what of the returned errors is computed with the new weights: nothing, the value
    of the state, or both values.
    """
    traces = [torch.zeros_like(p) for p in parameters]
    left = [torch.zeros_like(p) for p in parameters]
    decay = gamma * lam if decay is None else decay
    errors = []
    carried = None
    for state, reward, next_state, terminated, truncated in steps:
        over = {"terminated": terminated, "never": False, "either": terminated or truncated}[ends]
        if resets == "always" or (resets == "early" and (terminated or truncated)):
            traces = [torch.zeros_like(p) for p in parameters]
        v = value(state)
        v_next = 0.0 if over else value(next_state)
        root = v - gamma * v_next if through_next and not over else v
        gradients = torch.autograd.grad(root, parameters)
        with torch.no_grad():
            delta = float(reward + gamma * v_next - (v if carried is None else carried))
            moved = [trace.clone() for trace in traces] if stale else traces
            for trace, g, rest in zip(traces, gradients, left):
                trace.mul_(decay).add_(g + rest if leaks else g)
            for p, trace in zip(parameters, moved):
                p += factor * alpha * delta * trace
            left = [-delta * trace for trace in traces]
            carried = float(v_next) if carries and not (terminated or truncated) else None
            if late:
                v_next = value(next_state) if late == "both" and not over else v_next
                delta = float(reward + gamma * v_next - value(state))
            if (terminated and resets in ("terminated", "either")) or (truncated and resets in ("truncated", "either")):
                for trace in traces:
                    trace.zero_()
        errors.append(delta)
    return errors


def _run(w, steps, gamma, lam, alpha, **fault):
    learn([w], lambda state: w[state], steps, gamma, lam, alpha, **{"ends": "terminated", **fault})


def by_hand(w, steps, gamma, lam, alpha):
    traces = {}
    errors = []
    with torch.no_grad():
        for state, reward, next_state, terminated, truncated in steps:
            delta = reward - w[state].item() + (0.0 if terminated else w[next_state].item() * gamma)
            traces = {each: trace * gamma * lam for each, trace in traces.items()}
            errors.append(delta)
            traces[state] = traces.get(state, 0.0) + 1.0
            for each, trace in traces.items():
                w[each] += delta * alpha * trace
            if terminated or truncated:
                traces = {}
    return errors

# %% right="in_place"
def td(w, steps, gamma, lam, alpha):
    _run(w, steps, gamma, lam, alpha)

# %% right="out_of_place"
def td(w, steps, gamma, lam, alpha):
    trace = 0.0
    for state, reward, next_state, terminated, truncated in steps:
        v = w[state]
        target = reward if terminated else reward + gamma * w[next_state].item()
        w.grad = None
        v.backward()
        trace = lam * (gamma * trace) + w.grad  # stays: a right program may leave something there
        w.data = w.data + alpha * target * trace - alpha * v.item() * trace
        if terminated or truncated:
            trace = 0.0

# %% right="by_hand"
def td(w, steps, gamma, lam, alpha):
    return by_hand(w, steps, gamma, lam, alpha)

# %% right="by_hand_without_result"
def td(w, steps, gamma, lam, alpha):
    by_hand(w, steps, gamma, lam, alpha)  # a test that tells these two apart judges the result

# %% wrong="catches_sign"
def td(w, steps, gamma, lam, alpha):
    _run(w, steps, gamma, lam, alpha, factor=-1.0)

# %% wrong="catches_leak"
def td(w, steps, gamma, lam, alpha):
    _run(w, steps, gamma, lam, alpha, leaks=True)

# %% wrong="catches_no_trace"
def td(w, steps, gamma, lam, alpha):
    _run(w, steps, gamma, lam, alpha, resets="always")

# %% wrong="catches_decay"
def td(w, steps, gamma, lam, alpha):
    _run(w, steps, gamma, lam, alpha, decay=lam)

# %% wrong="catches_no_reset"
def td(w, steps, gamma, lam, alpha):
    _run(w, steps, gamma, lam, alpha, resets="never")

# %% wrong="catches_end"
def td(w, steps, gamma, lam, alpha):
    _run(w, steps, gamma, lam, alpha, ends="never")

# %% wrong="catches_truncation"
def td(w, steps, gamma, lam, alpha):
    _run(w, steps, gamma, lam, alpha, ends="either")

# %% wrong="catches_both_sides"
def td(w, steps, gamma, lam, alpha):
    _run(w, steps, gamma, lam, alpha, through_next=True)

# %% wrong="too_short"
def td(w, steps, gamma, lam, alpha):
    _run(w, steps, gamma, lam, alpha, factor=0.99)

# %% wrong="last_weight_astray"
def td(w, steps, gamma, lam, alpha):
    _run(w, steps, gamma, lam, alpha)
    w.data[-1] += 0.1

# %% wrong="catches_replacing"
def td(w, steps, gamma, lam, alpha):
    trace = torch.zeros_like(w)
    with torch.no_grad():
        for state, reward, next_state, terminated, truncated in steps:
            delta = reward + (0.0 if terminated else gamma * w[next_state].item()) - w[state].item()
            trace.mul_(gamma * lam)
            trace[state] = 1.0
            w += alpha * delta * trace
            if terminated or truncated:
                trace.zero_()
