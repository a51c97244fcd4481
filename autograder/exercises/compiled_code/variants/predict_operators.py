# %%
CALLS = [2, 4, 5]
START = [2.0, 3.0]


# %% variant="a_wrong_formula"
def operator_table():
    square.register_autograd(lambda ctx, grad: 2 * ctx.saved_tensors[0] * grad, setup_context=keep_x)
    wrong = square_operator("wrong")
    wrong.register_autograd(lambda ctx, grad: 5 * ctx.saved_tensors[0] * grad, setup_context=keep_x)
    x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    start, one = torch.tensor(START), torch.ones(())
    return {
        "formula 5 * x * grad: opcheck": said(opcheck, wrong, x),
        "formula 5 * x * grad: gradcheck": said(gradcheck, wrong, x),
        "no formula: requires grad": bare(x).requires_grad,
        "no formula, x requires no grad: opcheck": said(opcheck, bare, x.detach()),
        "forward mode of square at START": torch.func.jvp(square, (start,), (one,))[1].item(),
    }


# %% variant="calls_without_backward"
def operator_table():
    square.register_autograd(lambda ctx, grad: 2 * ctx.saved_tensors[0] * grad, setup_context=keep_x)
    by_numpy.register_autograd(numpy_formula, setup_context=keep_x)

    x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    a = torch.tensor(1.0, requires_grad=True)
    z = 3 * a
    double_(z)
    double_(z)  # z is 12 now
    z.backward()

    torch.compiler.reset()
    compiled = torch.compile(lambda x: square(x).sum(), backend="aot_eager")
    bodies.clear()
    for _ in range(CALLS):
        compiled(x)
    return {
        "runs of the body in CALLS compiled forward passes": len(bodies),
        "formula in NumPy: opcheck": said(opcheck, by_numpy, x),
        "formula in NumPy: gradcheck": said(gradcheck, by_numpy, x),
        "gradient of a through double_, twice": a.grad.item(),
    }


# %% variant="another_operator"
def operator_table():
    @custom_op("lesson::cube", mutates_args=())
    def cube(x: Tensor) -> Tensor:
        return x**3

    @custom_op("lesson::negate_", mutates_args={"x"})
    def negate_(x: Tensor) -> None:
        x.neg_()

    cube.register_fake(torch.empty_like)
    start, one = torch.tensor(START), torch.ones(())
    x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    a = torch.tensor(1.0, requires_grad=True)
    z = 3 * a
    negate_(z)  # z is -3 now
    z.backward()

    seen = {
        "no formula yet: requires grad": cube(x).requires_grad,
        "no formula yet: opcheck": said(opcheck, cube, x),
        "gradient of a through negate_": a.grad.item(),
    }
    cube.register_autograd(lambda ctx, grad: 3 * ctx.saved_tensors[0] ** 2 * grad, setup_context=keep_x)
    seen["formula 3 * x**2 * grad: opcheck"] = said(opcheck, cube, x)
    seen["forward mode of cube at START"] = torch.func.jvp(cube, (start,), (one,))[1].item()
    return seen


# %% variant="one_pass_in_eager_mode"
def operator_table():
    square.register_autograd(lambda ctx, grad: 2 * ctx.saved_tensors[0] * grad, setup_context=keep_x)
    by_numpy.register_autograd(numpy_formula, setup_context=keep_x)

    x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    a = torch.tensor(1.0, requires_grad=True)
    z = 3 * a
    double_(z)  # z is 6 now
    z.square().backward()

    torch.compiler.reset()
    compiled = torch.compile(lambda x: square(x).sum(), backend="aot_eager")
    bodies.clear()
    for run in (compiled, compiled, square):
        run(x).sum().backward()
    return {
        "runs of the body: two compiled passes and one in eager mode": len(bodies),
        "no formula: opcheck": said(opcheck, bare, x),
        "formula in NumPy, x requires no grad: opcheck": said(opcheck, by_numpy, x.detach()),
        "formula in NumPy: gradcheck": said(gradcheck, by_numpy, x),
        "gradient of a through double_ and square": a.grad.item(),
    }


# %% mistake="body_is_traced"
{r"(compiled forward passes.: )len\(bodies\)": r"\g<1>1", r"(in eager mode.: )len\(bodies\)": r"\g<1>2"}

# %% mistake="body_never_runs"
{r"(compiled forward passes.: )len\(bodies\)": r"\g<1>0", r"(in eager mode.: )len\(bodies\)": r"\g<1>1"}

# %% mistake="no_formula_no_grad"
{r"(bare|cube)\(x\)\.requires_grad": "False"}

# %% mistake="opcheck_needs_no_formula"
{r"said\(opcheck, bare, x\)": '"accepted"', r"(formula yet: opcheck.: )said\(opcheck, cube, x\)": r'\g<1>"accepted"'}

# %% mistake="numpy_is_traced"
{r"said\(opcheck, by_numpy, x\)": '"accepted"'}

# %% mistake="gradcheck_sees_numpy"
{r"said\(gradcheck, by_numpy, x\)": '"refused"'}

# %% mistake="formula_serves_forward_mode"
{r"(mode of square.*: )torch\.func\.jvp.*": r"\g<1>2 * START,", r"(mode of cube.*\] = ).*": r"\g<1>3 * START**2"}

# %% mistake="forward_mode_copies"
{r"(mode of square.*: )torch\.func\.jvp.*": r"\g<1>1.0,", r"(mode of cube.*\] = ).*": r"\g<1>1.0"}

# %% mistake="mutation_is_recorded"
{
    r"(through double_, twice.: )a\.grad\.item\(\)": r"\g<1>12.0",
    r"(through negate_.: )a\.grad\.item\(\)": r"\g<1>-3.0",
    r"(through double_ and square.: )a\.grad\.item\(\)": r"\g<1>72.0",
}

# %% mistake="mutation_replaces"
{
    r"(through double_, twice.: )a\.grad\.item\(\)": r"\g<1>4.0",
    r"(through negate_.: )a\.grad\.item\(\)": r"\g<1>-1.0",
}
