"""The pretended device, the aspect that it decides, and checks on a device."""

import pytest
import torch
from torch.func import grad, jacrev, vmap

from autograder import exercises
from autograder.cards.shown_verdict import ShownVerdict
from autograder.checking.devices.device_run import is_about_devices
from autograder.checking.devices.place import find_place
from autograder.checking.devices.pretended_device import pretended_device
from autograder.checking.exercise import PUBLIC_SEED
from autograder.checking.judge import judge
from autograder.checking.observe import observe
from autograder.lessons.mistakes import mistakes_of
from autograder.lessons.source import SOURCES

LESSONS = {path.stem[3:]: path for path in SOURCES.glob("[0-9][0-9]_*.py")}


class OnTheCpu(torch.autograd.Function):
    """Twice a tensor, with a constant of the CPU in its backward pass."""

    @staticmethod
    def forward(ctx, x):
        return 2 * x

    @staticmethod
    def backward(ctx, gradient):
        return gradient * torch.full((3,), 2.0)


# What CUDA's documentation and kernels refuse: operands on two devices, unless one is a single number of the CPU.
MADE_BEFORE = torch.ones(3)
REFUSED = {
    "what was made before": lambda x: x + MADE_BEFORE,
    "a constant": lambda x: x + torch.ones(3),
    "a list": lambda x: x * torch.tensor([1.0, 2.0, 3.0]),
    "a mask": lambda x: torch.where(x > 0, x, torch.zeros(3)),
    "stacked": lambda x: torch.stack([x, torch.zeros(3)]),
    "a dtype and a constant": lambda x: x @ torch.eye(3),
    "a CPU tensor with its indices": lambda x: torch.ones(3)[(x > 0)],
    "values to write": lambda x: x.detach().index_put_((torch.tensor([0, 1]),), torch.ones(2)),
    "a single number there": lambda x: x.sum() + torch.ones(3),
    "in backward": lambda x: OnTheCpu.apply(x).sum().backward(),
    "in autograd.grad": lambda x: torch.autograd.grad(OnTheCpu.apply(x).sum(), x),
    "in a hook": lambda x: _with_hook(x).sum().backward(),
    "under vmap": lambda x: vmap(lambda row: row + torch.ones(3))(x.expand(2, 3)),
    "in a Jacobian": lambda x: jacrev(lambda y: y * torch.ones(3))(x.detach()),
}
ALLOWED = {
    "like": lambda x: x + torch.zeros_like(x),
    "new": lambda x: x * x.new_tensor([1.0, 2.0, 3.0]) + x.new_ones(3),
    "with its device": lambda x: x + torch.arange(3, device=x.device) + torch.eye(3, device="cuda")[0],
    "moved": lambda x: x + torch.ones(3).to(x) + torch.ones(3).to(x.device) + torch.ones(3).cuda(),
    "a single number": lambda x: x * torch.tensor(2.0) + 1,
    "indices of the CPU": lambda x: x[torch.tensor([0, 1])].repeat(2)[:3],
    "copied": lambda x: torch.empty_like(x).copy_(torch.ones(3)) + x,
    "a list of numbers": lambda x: torch.tensor(x.detach().tolist(), device=x.device) + x,
    "a context": lambda x: _in_context(x),
    "under vmap": lambda x: vmap(lambda row: row + torch.ones(3, device=row.device))(x.expand(2, 3)),
    "torch.func": lambda x: grad(lambda y: (y**3).prod())(x.detach()),
    "second derivative of a product": lambda x: torch.autograd.functional.hvp(torch.prod, x.detach(), x.detach())[1],
    "saved on the CPU": lambda x: _saved_on_cpu(x),
}


def _with_hook(x):
    y = x.clone()
    y.register_hook(lambda gradient: gradient * torch.ones(3))
    return y


def _in_context(x):
    with torch.device(x.device):
        return x + torch.ones(3)


def _saved_on_cpu(x):
    with torch.autograd.graph.save_on_cpu():
        y = x.exp().sin()
    return torch.autograd.grad(y.sum(), x)[0]


@pytest.fixture
def there():
    with pretended_device("cuda") as devices:
        x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
        devices.put(x, devices.there)
        yield x


@pytest.mark.parametrize("mixture", REFUSED.values(), ids=REFUSED)
def test_a_mixture_of_devices_is_refused(there, mixture):
    with pytest.raises(RuntimeError, match=r"on the same device|on cpu or on the same device"):
        mixture(there)


@pytest.mark.parametrize("call", ALLOWED.values(), ids=ALLOWED)
def test_what_follows_its_tensor_runs_and_lies_there(there, call):
    result = call(there)
    assert (str(result.device), result.is_cuda) == ("cuda:0", True)


def test_numpy_needs_a_copy_on_the_cpu_first(there):
    with pytest.raises(TypeError, match="can't convert cuda:0 device type tensor to numpy"):
        there.detach().numpy()
    assert there.detach().cpu().numpy().tolist() == [1, 2, 3]


def test_nothing_is_left_on_whatever_the_block_does():
    engine, init = torch.autograd._engine_run_backward, torch.autograd.graph.saved_tensors_hooks.__init__
    left_on = torch.overrides.TorchFunctionMode()
    with pretended_device("xpu"):
        torch._C._pop_torch_function_stack()
        torch._C._push_on_torch_function_stack(left_on)
    assert torch._C._pop_torch_function_stack() is left_on
    assert (torch._C._len_torch_function_stack(), torch._C._len_torch_dispatch_stack()) == (0, 0)
    assert torch.autograd._engine_run_backward is engine
    assert torch.autograd.graph.saved_tensors_hooks.__init__ is init


def test_a_dozen_exercises_grade_the_device_of_the_inputs():
    graded = [each for lesson in LESSONS for each in exercises.load(lesson).values() if is_about_devices(each)]
    assert len(graded) >= 12
    assert len({exercise.lesson for exercise in graded}) >= 6
    assert all(exercises.key_of(each).misconceptions for each in graded)


def test_an_error_that_no_gpu_raises_costs_no_points():
    exercise = exercises.load("grad_modes_and_in_place")["smooth"]

    def smooth(x, a):
        if x.device.type == "cuda":
            torch.cuda.current_stream().synchronize()  # the pretended device has no stream
        rows = [x[0]]
        for t in range(1, len(x)):
            rows.append(a * rows[-1] + (1 - a) * x[t])
        return torch.stack(rows)

    expected = exercises.key_of(exercise).expected
    assert judge(exercise, observe(exercise, smooth, PUBLIC_SEED), expected).points == exercise.points


DECLINES = (
    "assert x.is_cpu",
    "if x.is_cuda: raise NotImplementedError",
    "if x.device.type != 'cpu': raise RuntimeError('Torch not compiled with CUDA enabled')",
    "1 if x.is_cpu else 1 / 0",
    "'abc'.index('a' if x.is_cpu else 'z')",
    "{'cpu': 0}[x.device.type]",
    "x if x.is_cpu else x.view(7, 7, 7)",
)


@pytest.mark.parametrize("line", DECLINES)
def test_an_answer_that_declines_the_device_has_not_worked_there(line):
    exercise = exercises.load("grad_modes_and_in_place")["smooth"]
    answer: dict = {"torch": torch}
    rows = "rows = [x[0]]\n    for t in range(1, len(x)):\n        rows.append(a * rows[-1] + (1 - a) * x[t])"
    exec(f"def smooth(x, a):\n    {line}\n    {rows}\n    return torch.stack(rows)", answer)
    verdict = judge(exercise, observe(exercise, answer["smooth"], PUBLIC_SEED), exercises.key_of(exercise).expected)
    assert [each.name for each in verdict.aspects if each.state == "wrong"] == ["device"]


def test_an_answer_that_leaves_the_device_of_its_inputs_is_never_our_error() -> None:
    place, named = find_place("cuda"), set()
    for lesson in LESSONS:
        for exercise in filter(is_about_devices, exercises.load(lesson).values()):
            wrong = mistakes_of(exercise)
            for name in (name for name in wrong.cells if wrong.named[name].theme == "device"):
                runs = observe(exercise, wrong.program(name, exercise.asks), PUBLIC_SEED, place)
                verdict = judge(exercise, runs, exercises.key_of(exercise).expected)
                assert verdict.state == "not yet", f"{exercise.name}, {name}: {ShownVerdict.of(verdict).text('en')}"
                named.add(verdict.mistake)
    assert "sum_on_the_cpu" in named
