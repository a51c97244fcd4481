"""The table of explanations: the program of every entry raises an error that this very entry explains."""

import json
from pathlib import Path

import pytest
import torch
from packaging.version import Version

from autograder.authoring.lint import banned_words
from autograder.exercises import load
from autograder.explained.table import EXPLANATIONS, explain
from autograder.learner.tracebacks import as_html, as_text
from autograder.lessons.collection import COURSE
from autograder.site.errors.cures import cures
from support.gpu_programs import MIXTURES, ON_A_GPU_ALONE
from support.torch_programs import heard, told

BY_NAME = {each.name: each for each in EXPLANATIONS}
RECORDED = json.loads((Path(__file__).parents[1] / "checking/devices/recorded.json").read_text(encoding="utf-8"))
LAYERS = ("a layer and data", "data and a layer", "a convolution and data", "data and a convolution", "an LSTM")
LAYERS += ("an LSTM's state", "a GRU", "attention", "LayerNorm", "BatchNorm")
INDICES = ("an embedding", "indices of the GPU", "a mask of the GPU", "gather", "index_add", "scatter", "masked_fill")
GRADIENTS = ("v in backward", "v in grad", "a hook's gradient", "a custom gradient")
# Programs of `support/gpu_programs.py` and the entry for each; those left out are mixtures of devices.
ON_A_GPU = {
    **dict.fromkeys(LAYERS, "layer_on_another_device"),
    **dict.fromkeys(INDICES, "indices_on_another_device"),
    **dict.fromkeys(GRADIENTS, "gradient_on_another_device"),
    "an assigned gradient": "assigned_gradient_on_another_device",
    "NumPy": "numpy_of_a_gpu_tensor",
    "memory": "out_of_gpu_memory",
    "a class that is not there": "assert_on_the_gpu",
    "an index that is not there": "assert_on_the_gpu",
    "a fork": "gpu_after_a_fork",
    "an evaluated LSTM": "recurrent_layer_in_eval_mode",
    "an LSTM's second derivative": "second_derivative_of_a_recurrent_layer",
    "a random order": "no_deterministic_implementation",
    "a generator": "",  # it is about random numbers, not about gradients
}
WITHOUT_CURE = {
    "gpu_after_a_fork",
    "no_deterministic_implementation",
    "static_graph_without_sync",
}  # the first two need a GPU
SINCE = {"asarray_of_a_tracked_tensor": "2.13"}  # older versions of torch say nothing
# Texts of other versions of torch, other devices and other builds, as people reported them.
ELSEWHERE = {
    'expect_autograd_hooks_ INTERNAL ASSERT FAILED at "/pytorch/torch/csrc/distributed/c10d/reducer.cpp":1732, please '
    "report a bug to PyTorch.": "static_graph_without_sync",  # its program hangs now and then
    "Torch not compiled with CUDA enabled": "no_gpu_here",
    "Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU": "no_gpu_here",
    "Placeholder storage has not been allocated on MPS device!": "mixture_of_devices",
    "MPS backend out of memory (MPS allocated: 1024.00 MiB, other allocations: 384.00 KiB)": "out_of_gpu_memory",
    "Tensor for argument weight is on cpu but expected on mps": "layer_on_another_device",
    **{
        "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu! "
        f"(when checking argument for argument {argument} in method wrapper_CUDA_{kernel})": entry
        for argument, kernel, entry in (
            ("mat1", "addmm", "layer_on_another_device"),
            ("weight", "_native_layer_norm", "layer_on_another_device"),
            ("index", "_index_select", "indices_on_another_device"),
            ("mat2", "mm", "mixture_of_devices"),
            ("tensors", "cat", "mixture_of_devices"),
            ("target", "nll_loss_forward", "mixture_of_devices"),
        )
    },
}
# Python's and torch's errors that have nothing to do with gradients.
UNRELATED = [
    "1 / 0",
    "x",
    "{}.get('x').foo",
    "{}.get('x')[0]",
    "-{}.get('x')",
    "{}.get('x') + 1",
    "float({}.get('x'))",
    "print()()",
    "def f(a): pass\nf(1, 2)",
    "(lambda: 0)(1)",
    "class A:\n    def m(self): pass\nA().m(1)",
    "(1, 2).shape",
    "0.5 * (1, 2)",
    "[1, 2].detach()",
    "'text'.backward",
    "class A: pass\nA().sum()",
    "(1.0).shape",
    "a, b = [1]",
    "for i in 1.0: pass",
    "for i in print: pass",
    "True()",
    "sum([1], axis=0)",
    "torch.rand(2)()",
    "torch.rand(2, 3) @ torch.rand(2, 3)",
    "nn.Linear(2, 3)(torch.rand(3))",
    "torch.rand(2) + torch.rand(3)",
    "torch.rand(2)[5]",
    "torch.zeros(2).add_(torch.rand(3, 2))",
    "F.cross_entropy(torch.rand(2, 3), torch.rand(2))",
    "nn.Linear(2)",
    "int('one')",
    "open('no such file')",
    "assert False",
    "with 1: pass",
    "import warnings\nwarnings.warn('something else')",
]


@pytest.mark.parametrize("name", [each.name for each in EXPLANATIONS if each.program])
def test_the_program_of_an_entry_is_explained_by_it(name):
    if Version(torch.__version__) < Version(SINCE.get(name, "2.0")):
        pytest.skip(f"torch {torch.__version__} says nothing here")
    assert name in [each.by for each in told(BY_NAME[name].program)]


@pytest.mark.parametrize("name", MIXTURES | ON_A_GPU_ALONE)
def test_what_a_gpu_says_is_explained(name):
    if recorded := RECORDED["programs"][name]:
        found = explain(recorded[1])
        assert (found.name if found else "") == ON_A_GPU.get(name, "mixture_of_devices")


@pytest.mark.parametrize("text", ELSEWHERE)
def test_what_is_said_elsewhere_is_explained(text):
    assert explain(text).name == ELSEWHERE[text]


def test_every_entry_has_a_program_or_a_text():
    without = {each.name for each in EXPLANATIONS if not each.program}
    assert without <= {*ON_A_GPU.values(), *ELSEWHERE.values()}
    met = {each.name: each.met for each in EXPLANATIONS if each.met}
    assert met.keys() == without | {each.name for each in EXPLANATIONS if 'device="meta"' in each.program}
    assert [name for name, text in met.items() if explain(text.partition(": ")[2]).name != name] == []


def test_every_cure_runs_and_no_explained_error_is_left() -> None:
    told = {name: [each.text for each in heard(cure) if each.by] for name, cure in cures().items()}
    assert {name: texts for name, texts in told.items() if texts} == {}


def test_every_explanation_has_a_cure_that_changes_its_program() -> None:
    assert cures().keys() == BY_NAME.keys() - WITHOUT_CURE
    assert [name for name, cure in cures().items() if cure == BY_NAME[name].program] == []


@pytest.mark.parametrize("program", UNRELATED)
def test_other_errors_are_left_alone(program):
    assert told(program)[-1].by == ""


@pytest.mark.parametrize(
    "text", ["division by zero", "name 'x' is not defined", "'NoneType' object has no attribute 'foo'", "", "None"]
)
def test_other_texts_are_left_alone(text):
    assert explain(text) is None


def test_entries_are_whole():
    lessons = {lesson.file_name: lesson.name for lesson in COURSE.read()}
    assert len(BY_NAME) == len(EXPLANATIONS)
    for each in EXPLANATIONS:
        assert each.says.en, each.name
        assert list(banned_words(each.says.ru)) == [], each.name
        assert all(says.count("`") % 2 == 0 for says in each.says), each.name
        assert each.exercise in load(lessons[each.lesson]), each.name
        assert each.lesson in lessons, each.name


def test_explanations_exist_in_both_languages():
    found = BY_NAME["second_backward"]
    assert "retain_graph=True" in as_text(found, "en")
    assert "02_graph_and_backward" in as_text(found, "ru")
    assert "predict_second_backward" in as_text(found, "ru")
    assert as_text(found, None) == as_text(found, "en") + "\n" + as_text(found, "ru")
    assert '<div lang="ru">' in as_html(found, "ru")
    assert "<code>retain_graph=True</code>" in as_html(found, "ru")


def test_a_text_of_millions_of_letters_is_read_at_its_beginning() -> None:
    assert explain("x" * 5_000_000) is None
    found = explain("element 0 of tensors does not require grad and does not have a grad_fn" + "x" * 5_000_000)
    assert found is not None
