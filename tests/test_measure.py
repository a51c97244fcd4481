"""The counts that budgets are judged by, the same in every run."""

import multiprocessing
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch.autograd import functional
from torch.autograd.graph import saved_tensors_hooks

from autograder.checking.containment.switches import as_in_a_fresh_process
from autograder.checking.containment.thread_starts import StartedThread
from autograder.checking.counted_run import recording_products
from autograder.checking.counting.allocations import ProfilerInterfered
from autograder.checking.counting.own_operators import CalledOwnOperator
from autograder.measure import CountedCalls, counting_backward_runs, counting_ops, graph_nodes, live_bytes, saved_bytes


def counted(work):
    with counting_ops() as ops, counting_backward_runs() as runs:
        work()
    return ops, runs.times


def products(n):
    """vᵀJ by one backward pass, by the whole Jacobian, and J v in forward mode, of n -> n."""
    w = torch.eye(n)
    x, v = torch.linspace(-1, 1, n), torch.ones(n)

    def f(x):
        return torch.tanh(w @ x)

    def vjp():
        leaf = x.clone().requires_grad_()
        torch.autograd.grad(f(leaf), leaf, v)

    return vjp, lambda: v @ functional.jacobian(f, x), lambda: torch.func.jvp(f, (x,), (v,))


@pytest.mark.filterwarnings("ignore:.torch.jit.script:DeprecationWarning")  # torch's own, at the first use of jvp
def test_a_jacobian_shows_in_the_runs_the_ops_and_the_largest_tensor():
    for n in (16, 32):
        vjp, jacobian, jvp = (counted(work) for work in products(n))
        assert (vjp[1], jacobian[1], jvp[1]) == (1, n, 0)
        assert (vjp[0].largest, jacobian[0].largest) == (n, n * n)
        assert jacobian[0].times > 4 * n
    assert counted(products(16)[0])[0].times == counted(products(32)[0])[0].times
    assert counted(products(16)[2])[0].times == counted(products(32)[2])[0].times


def test_what_makes_no_new_storage_is_not_large():
    matrix = torch.ones(50, 50)
    ops, _ = counted(lambda: (matrix.t(), matrix.view(-1), matrix.mul_(2), torch.ones(1).expand(1000)))
    assert ops.largest == 1


def test_counted_calls_stand_in_for_the_function():
    square = CountedCalls(lambda x, factor=1: factor * x * x)
    assert (square.function(3), square.function(3, factor=2), square.times) == (9, 18, 2)


def test_saved_bytes_are_those_of_storages_the_graph_still_holds():
    x = torch.ones(64, 256, requires_grad=True)
    size = x.numel() * 4
    for operation, new, saves in [
        (lambda h: h * h, size, 2),  # one storage, saved twice
        (torch.exp, size, 1),  # the output
        (torch.sin, size, 1),  # the input
        (lambda h: h + 1, 0, 0),
        (lambda h: h[:2].sin(), size, 1),  # a slice keeps all of its storage
        (lambda h: h.sum(0)[:1].expand(1000).sin(), 256 * 4, 1),  # an expanded tensor keeps its few numbers
    ]:
        with saved_bytes() as saved:
            result = operation(x * 1)
        assert (saved.now, saved.saves) == (new, saves)
        del result
        assert saved.now == 0  # nobody holds it any more


def test_known_tensors_do_not_count_as_saved():
    layer, x = torch.nn.Linear(8, 4), torch.ones(16, 8)
    with saved_bytes(known=[*layer.parameters(), x]) as saved:
        result = layer(x).tanh()
    assert saved.now == result.numel() * 4


def test_a_graph_is_walked_by_nodes_and_not_by_paths():
    x = torch.ones(2, requires_grad=True)
    doubled = x * 1
    for _ in range(40):
        doubled = doubled + doubled
    names = [node.name() for node in graph_nodes(doubled)]
    assert len(names) == 42
    assert names[-1].endswith("AccumulateGrad")
    assert graph_nodes(x)[0].variable is x
    assert graph_nodes(torch.ones(2)) == []


class HidesInCtx(torch.autograd.Function):
    """x * x that keeps x and a copy of it as attributes of ctx instead of saving them."""

    @staticmethod
    def forward(ctx, x):
        ctx.x, ctx.copy = x, x.clone()
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * (ctx.x + ctx.copy)


def through_inner_hooks(x):
    with saved_tensors_hooks(lambda t: [t.clone()], lambda box: box[0]):
        return x * x


def as_numpy(x):
    kept = (2 * x).detach().numpy()
    y = (x * 1).sum()
    y.register_hook(lambda g: g * float(kept.sum()))
    return y


def test_each_way_of_hiding_what_is_kept_is_seen_by_one_of_the_counts():
    x = torch.ones(64, 64, requires_grad=True)
    size = x.numel() * 4
    for hide, by_saved, by_live in [
        (lambda x: x * x, 0, 0),  # x alone, which is known
        (HidesInCtx.apply, 0, size),
        (through_inner_hooks, 0, 2 * size),  # one copy for each of the two saves
        (as_numpy, 0, size),  # an array made of a tensor shares its storage
    ]:
        with saved_bytes(known=[x]) as saved:
            kept = hide(x)
        with live_bytes() as live:
            again = hide(x)
            own = again.numel() * 4
        assert saved.now == by_saved, hide
        assert live.now - (own if own > 8 else 0) == by_live, hide  # a single number does not count
        del kept, again


def test_an_array_of_numpys_own_is_seen_by_no_count():
    x = torch.ones(64, 64)
    with live_bytes() as live:
        kept = x.numpy() * 2  # what the docstring says it cannot see
    assert (live.now, live.peak, kept.size) == (0, 0, x.numel())


def test_live_bytes_end_where_they_began_and_remember_the_peak():
    x = torch.ones(1000)
    with live_bytes() as live:
        y = x + 1
        z = (y + 1) + 1  # the middle one dies at once
        assert live.now == 8000
        del y, z
    assert (live.now, live.peak) == (0, 12000)


def test_a_jacobian_built_row_by_row_hides_from_largest_but_not_from_the_runs():
    n = 32
    x = torch.linspace(-1, 1, n).requires_grad_()

    def row_by_row():
        y, v = torch.tanh(2 * x), torch.ones(n)
        rows = [torch.autograd.grad(y[i], x, retain_graph=True)[0].tolist() for i in range(n)]
        return sum(v[i].item() * rows[i][0] for i in range(n))

    ops, runs = counted(row_by_row)
    assert (ops.largest, runs) == (n, n)


@pytest.mark.filterwarnings("ignore:.torch.jit.script:DeprecationWarning")
def test_calls_made_by_torch_func_and_under_vmap_are_counted():
    square = CountedCalls(lambda x: x * x)
    torch.func.vmap(torch.func.grad(lambda x: square.function(x)))(torch.ones(5))
    torch.func.jvp(square.function, (torch.ones(2),), (torch.ones(2),))
    assert square.times == 2  # one batched call counts once


def test_live_bytes_see_what_an_optimizer_frees():
    weights = [torch.ones(1000, requires_grad=True) for _ in range(4)]
    for weight in weights:
        optimizer = torch.optim.SGD([weight], lr=0.1)
        weight.register_post_accumulate_grad_hook(lambda _, optimizer=optimizer: optimizer.zero_grad())
    with live_bytes() as live:
        sum((2 * weight).sum() for weight in weights).backward()
        assert live.now < 4000
    assert 4000 <= live.peak < 12_000


def test_live_bytes_are_silent_about_memory_from_before():
    code = (
        "import torch; from autograder.measure import live_bytes\n"
        "old = [torch.ones(1000) for _ in range(2000)]\n"
        "with live_bytes() as live:\n"
        "    old.clear(); new = torch.ones(1000); print(live.now)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("4000\n", "")


def test_live_bytes_have_the_profiler_for_themselves():
    with torch.profiler.profile(), pytest.raises(ProfilerInterfered), live_bytes():
        pass
    with pytest.raises(ProfilerInterfered), live_bytes():
        torch.autograd._disable_profiler()

    def start_another():
        torch.autograd._disable_profiler()
        time.sleep(0.01)
        torch.profiler.profile().start()

    with pytest.raises(ProfilerInterfered), live_bytes():
        start_another()
    assert not torch._C._autograd._profiler_enabled()


def in_a_thread(fails=False):
    thread = threading.Thread(target=torch.ones, args=(1000,))
    thread.start()
    thread.join()
    if fails:
        raise ValueError


@pytest.mark.parametrize("measuring", [live_bytes, saved_bytes, counting_ops])
def test_a_thread_that_another_thread_starts_is_nothing_to_refuse(measuring):
    """The grader's watch of a child starts while the grader runs a lesson."""
    go, ran = threading.Event(), threading.Event()

    def start_another():
        go.wait()
        threading.Thread(target=ran.set).start()

    other = threading.Thread(target=start_another)
    other.start()
    with measuring():
        go.set()
        assert ran.wait(60)
    other.join()


@pytest.mark.parametrize("measuring", [live_bytes, saved_bytes, counting_ops, counting_backward_runs])
def test_work_in_a_process_or_an_operator_is_refused(measuring):
    with pytest.raises(StartedThread), measuring():
        subprocess.run([sys.executable, "-c", ""], check=True)
    with pytest.raises(StartedThread), measuring():
        multiprocessing.get_context("fork").Process(target=abs, args=(1,)).start()
    with counting_backward_runs(), measuring():  # one in the other is no process
        pass
    library = torch.library.Library("of_my_own", "FRAGMENT")
    library.define("double(Tensor x) -> Tensor")
    library.impl("double", lambda x: 2 * x, "CPU")
    try:
        for counting in (counting_ops, recording_products):
            with pytest.raises(CalledOwnOperator), counting():
                torch.ops.of_my_own.double(torch.ones(2))
    finally:
        library._destroy()


def test_work_in_a_class_with_its_own_dispatch_is_refused():
    class Box(torch.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return torch.ones(2, 2) @ torch.ones(2, 2)  # a mode is off here

    class Plain(torch.Tensor):
        pass

    box, plain, parameter = torch.ones(2).as_subclass(Box), torch.ones(2).as_subclass(Plain), torch.nn.Parameter()
    for counting in (counting_ops, recording_products):
        with pytest.raises(CalledOwnOperator), counting():
            box.neg()
        with counting():
            plain.neg().detach()
            parameter.data = torch.ones(3)


@pytest.mark.parametrize("measuring", [live_bytes, saved_bytes, counting_ops])
def test_work_in_a_thread_is_refused_where_threads_are_not_counted(measuring):
    with pytest.raises(StartedThread), measuring():
        ThreadPoolExecutor(1).submit(torch.ones, 1000).result()
    with pytest.raises(StartedThread), measuring():
        in_a_thread()
    with pytest.raises(ValueError), measuring():  # noqa: PT011
        in_a_thread(fails=True)
    pool = ThreadPoolExecutor(1)
    pool.submit(abs, 1).result()
    with measuring():
        pool.submit(abs, 1).result()  # a thread that was there before: only grading notices


def test_a_check_stops_a_profiler_and_starts_it_again():
    profile = torch.profiler.profile()
    profile.start()
    with as_in_a_fresh_process() as notes:
        assert [note.id for note in notes] == ["note.unusual.profiler"]
        with live_bytes() as live:
            torch.ones(1000)
        assert live.peak == 4000
    torch.ones(1000)
    profile.stop()


def test_a_counted_function_hands_on_errors_and_keeps_nothing():
    def fail(x):
        raise ValueError(x)

    counted = CountedCalls(fail)
    with pytest.raises(ValueError, match="3"):
        counted.function(3)
    assert counted.times == 1
    kept = CountedCalls(lambda x: x * 2)
    with live_bytes() as live:
        kept.function(torch.ones(1000))
        assert live.now == 0


def test_counting_imports_no_compiler_and_counts_the_same_with_it():
    code = """
import sys, torch
from autograder import plot_memory
from autograder.checking.counted_run import recording_products
from autograder.measure import counting_ops

def counted():
    x = torch.ones(2, 2, requires_grad=True)
    with counting_ops() as ops, recording_products() as products:
        (x @ x).sin().sum().backward()
    return ops.times, ops.largest, len(products)

plot_memory(torch.ones(2), lambda x: x.sin().sum())
before = counted()
assert "torch._dynamo" not in sys.modules
import torch._dynamo
assert counted() == before
"""
    subprocess.run([sys.executable, "-c", code], check=True)
