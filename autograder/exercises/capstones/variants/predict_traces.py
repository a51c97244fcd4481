# %%
WEIGHTS = [(0.15, 0.8, 0.4), (0.2, 0.7, 0.4), (0.05, 0.8, 0.6)]
LAMBDA = [0.8, 0.4]
ALPHA = [0.5, 0.2]


# %% variant="cleared_first"
def published(weights=WEIGHTS, rewards=(0.0, 0.0, 1.0), gamma=0.5, lam=LAMBDA, alpha=ALPHA):
    seen = {}
    model = torch.nn.Linear(3, 1, bias=False)
    p = model.weight = torch.nn.Parameter(torch.tensor([weights]))
    optimizer = torch.optim.SGD(model.parameters(), lr=alpha)
    states = torch.eye(3)
    trace = torch.zeros_like(p)
    for t in range(3):
        v = model(states[t])
        v_next = model(states[t + 1]).item() if t < 2 else 0.0
        optimizer.zero_grad()
        v.backward()
        if t == 1:
            seen["p.grad[0] after the second backward"] = p.grad[0, 0].item()
        delta = rewards[t] + gamma * v_next - v.item()
        trace[:] = gamma * lam * trace + p.grad
        p.grad[:] = alpha * delta * trace
        optimizer.step()
        if t == 0:
            seen["p.grad[0] after step 1"] = p.grad[0, 0].item()
            seen["w[0] after step 1"] = p[0, 0].item()
        if t == 1:
            seen["trace[0] after step 2"] = trace[0, 0].item()
    seen["w[2] at the end"] = p[0, 2].item()
    return {name: round(value, 4) for name, value in seen.items()}


# %% variant="without_an_optimizer"
def published(weights=WEIGHTS, rewards=(0.0, 0.0, 1.0), gamma=0.5, lam=LAMBDA, alpha=ALPHA):
    seen = {}
    model = torch.nn.Linear(3, 1, bias=False)
    model.weight = torch.nn.Parameter(torch.tensor([weights]))
    states = torch.eye(3)
    (p,) = model.parameters()
    trace = torch.zeros_like(p)
    for t in range(3):
        v = model(states[t])
        v_next = model(states[t + 1]).item() if t < 2 else 0.0
        v.backward()
        if t == 1:
            seen["p.grad[0] after the second backward"] = p.grad[0, 0].item()
        delta = rewards[t] + gamma * v_next - v.item()
        trace[:] = gamma * lam * trace + p.grad
        with torch.no_grad():
            p += alpha * delta * trace
        if t == 0:
            seen["p.grad[0] after step 1"] = p.grad[0, 0].item()
            seen["w[0] after step 1"] = p[0, 0].item()
        if t == 1:
            seen["trace[0] after step 2"] = trace[0, 0].item()
    seen["w[2] at the end"] = p[0, 2].item()
    return {name: round(value, 4) for name, value in seen.items()}


# %% variant="sign_and_step_size_mended"
def published(weights=WEIGHTS, rewards=(0.0, 0.0, 1.0), gamma=0.5, lam=LAMBDA, alpha=ALPHA):
    seen = {}
    model = torch.nn.Linear(3, 1, bias=False)
    model.weight = torch.nn.Parameter(torch.tensor([weights]))
    optimizer = torch.optim.SGD(model.parameters(), lr=alpha)
    states = torch.eye(3)
    (p,) = model.parameters()
    trace = torch.zeros_like(p)
    for t in range(3):
        v = model(states[t])
        v_next = model(states[t + 1]).item() if t < 2 else 0.0
        v.backward()
        if t == 1:
            seen["p.grad[0] after the second backward"] = p.grad[0, 0].item()
        delta = rewards[t] + gamma * v_next - v.item()
        trace[:] = gamma * lam * trace + p.grad
        p.grad[:] = -delta * trace
        optimizer.step()
        if t == 0:
            seen["p.grad[0] after step 1"] = p.grad[0, 0].item()
            seen["w[0] after step 1"] = p[0, 0].item()
        if t == 1:
            seen["trace[0] after step 2"] = trace[0, 0].item()
    seen["w[2] at the end"] = p[0, 2].item()
    return {name: round(value, 4) for name, value in seen.items()}


# %% variant="a_step_later"
def published(weights=WEIGHTS, rewards=(0.0, 1.0, 0.0), gamma=0.5, lam=LAMBDA, alpha=ALPHA):
    seen = {}
    model = torch.nn.Linear(3, 1, bias=False)
    model.weight = torch.nn.Parameter(torch.tensor([weights]))
    optimizer = torch.optim.SGD(model.parameters(), lr=alpha)
    states = torch.eye(3)
    (p,) = model.parameters()
    trace = torch.zeros_like(p)
    for t in range(3):
        v = model(states[t])
        v_next = model(states[t + 1]).item() if t < 2 else 0.0
        v.backward()
        if t == 1:
            seen["p.grad[1] after the second backward"] = p.grad[0, 1].item()
        delta = rewards[t] + gamma * v_next - v.item()
        trace[:] = gamma * lam * trace + p.grad
        p.grad[:] = alpha * delta * trace
        optimizer.step()
        if t == 1:
            seen["p.grad[1] after step 2"] = p.grad[0, 1].item()
            seen["w[1] after step 2"] = p[0, 1].item()
    seen["trace[1] at the end"] = trace[0, 1].item()
    seen["w[2] at the end"] = p[0, 2].item()
    return {name: round(value, 4) for name, value in seen.items()}


# %% mistake="the_right_sign"
{r"(= alpha \* delta \* trace\n +)optimizer\.step\(\)": r"\1p.data += alpha * p.grad"}

# %% mistake="step_size_once"
{r"(= alpha \* delta \* trace\n +)optimizer\.step\(\)": r"\1p.data -= p.grad"}

# %% mistake="plain_td"
{r"(= alpha \* delta \* trace\n +)optimizer\.step\(\)": r"\1p.data += p.grad"}

# %% mistake="backward_overwrites"
{
    r"(?s)(published\(((?!zero_grad).)*)(\[0\] after the second backward.\] = )p\.grad\[0, 0\]\.item\(\)": r"\1\g<3>0.0",
}

# %% mistake="adds_one_again"
{r'(\[0\] after the second backward"\] = )p\.grad': r"\g<1>1 + p.grad"}

# %% mistake="clean_trace"
{r'(?s)(-delta \* trace.*"trace\[0\] after step 2"\] = )trace\[0, 0\]\.item\(\)': r"\1gamma * lam"}

# %% mistake="subtracts_the_rest"
{r'(?s)(-delta \* trace.*"trace\[0\] after step 2"\] = )trace': r"\g<1>2 * gamma * lam - trace"}

# %% mistake="step_clears"
{r"(?s)(optimizer\.step.*p\.grad\[(\d)\] after step \d.\] = )p\.grad": r"\g<1>0 * p.grad"}

# %% mistake="backward_left_alone"
{r"(?s)(optimizer\.step.*p\.grad\[(\d)\] after step \d.\] = )p\.grad": r"\g<1>1 + 0 * p.grad"}

# %% mistake="step_size_left_out"
{r"(?s)(alpha \* delta \* trace\n +optimizer.*p\.grad\[(\d)\] after step \d.\] = )p\.grad": r"\g<1>1 / alpha * p.grad"}

# %% mistake="keeps_the_old_gradient"
{r"(?s)(\[0\] after the second backward.\] = )p\.grad(.*-delta \* trace)": r"\g<1>1 + 0 * p.grad\2"}

# %% mistake="trace_of_lambda"
{
    r'("trace\[0\] after step 2"\] = )trace': r"\1lam - gamma * lam + trace",
    r'("trace\[1\] at the end"\] = )trace': r"\1lam - gamma * lam + trace",
}

# %% mistake="trace_without_decay"
{
    r'("trace\[0\] after step 2"\] = )trace': r"\g<1>1 - gamma * lam + trace",
    r'("trace\[1\] at the end"\] = )trace': r"\g<1>1 - gamma * lam + trace",
}
