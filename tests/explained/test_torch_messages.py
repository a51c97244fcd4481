"""Programs with the errors and warnings that learners meet, by rank, and the entry that must explain each.

The ranks are a judgement: the files in `programs/` hold what is met often, sometimes and rarely, and is not within a
line of the entry's own program, which `test_torch_errors.py` runs. In `varied.py` the causes lie farther from the
error, or have nothing to do with gradients.
"""

from pathlib import Path

import pytest
import torch
from packaging.version import Version

from autograder.cells import read_cells
from autograder.explained.silent_mistakes import silent_mistakes
from autograder.language import LANGUAGES
from autograder.messages.learners import message
from support.torch_programs import run_cell, told

PROGRAMS = Path(__file__).with_name("programs")
REPORTS = Path(__file__).parents[1] / "support/public_reports"
NAMES = (PROGRAMS / "names.py").read_text(encoding="utf-8")
KEYS = {"program", "entry", "silent", "since"}  # the program raises something from version `since` to `silent`
RANKS = {rank: read_cells(PROGRAMS / f"{rank}.py", KEYS) for rank in ("often", "sometimes", "rarely")}
VARIED = {cell.metadata["program"]: cell for cell in read_cells(PROGRAMS / "varied.py", KEYS)}
CASES = {cell.metadata["program"]: cell for cells in RANKS.values() for cell in cells}

# What people reported: the cells `b_*.py` in `support/public_reports`, and the entry that must explain each.
REPORTED = {
    "as_many_vectors_as_outputs": "another_number_of_v",
    "backward_inside_a_compiled_function": "backward_inside_a_compiled_function",
    "backward_inside_func": "tracking_inside_a_transform",
    "backward_of_a_numpy_number": "backward_of_a_number",
    "checkpoint_of_a_constant_input": "old_checkpoint_without_a_graph",
    "checkpoint_that_empties_its_list": "only_the_second_run_fails",
    "closure_returns_nothing": "closure_returns_nothing",
    "collective_in_the_forward_pass": "collective_in_the_forward_pass",
    "compiled_backward_under_vmap": "compiled_backward_under_vmap",
    "compiled_twice": "compiled_twice",
    "features_written_through_data": "graph_cut",
    "flex_attention_on_the_cpu": "flex_attention_on_the_cpu",
    "forward_mode_not_implemented": "no_forward_mode",
    "generator_given_to_grad": "transform_of_no_tensor",
    "gradient_is_a_tuple": "tuple_of_gradients",
    "gradient_on_another_device": "gradient_on_another_device",
    "integers_from_an_unpack_hook": "integers_from_an_unpack_hook",
    "list_given_to_a_function": "list_given_to_a_function",
    "loss_from_argmax": "no_derivative_in_the_loss",
    "mark_dirty_on_a_leaf": "leaf_marked_dirty",
    "module_hook_returns_too_many": "module_hook_returns_too_many",
    "no_derivative_at_all": "no_derivative_at_all",
    "operator_without_fake": "operator_without_fake",
    "parameter_replaced_by_a_tensor": "parameter_replaced_by_a_tensor",
    "phase_of_complex_singular_vectors": "phase_of_a_vector",
    "register_autograd_under_func": "operator_under_func",
    "row_of_a_leaf": "derived_from_a_leaf",
    "scaler_steps_twice": "scaler_out_of_order",
    "second_derivative_of_detached_saves": "second_derivative_of_detached_saves",
    "second_derivative_without_create_graph": "gradient_without_create_graph",
    "selective_checkpoint_changed_in_place": "selective_checkpoint_changed_in_place",
    "setup_context_with_separate_inputs": "arguments_of_setup_context",
    "sparse_adam_with_dense_gradients": "dense_gradients",
    "tensor_and_distributed_tensor": "tensor_and_distributed_tensor",
    "tensor_of_tensors": "tensor_of_vectors",
    "two_rules_for_vmap": "two_rules_for_vmap",
    "update_in_a_function": "update_of_a_local_name",
    "vector_as_a_list": "v_that_is_a_list",
    "view_from_a_function_changed": "view_of_a_function_changed",
    "view_of_a_gradient": "view_of_a_gradient",
    "vmap_over_a_function": "no_vmap_rule",
}
HANGS = "static_graph_without_sync"  # now and then: its text is in `test_torch_errors.py`
SILENT = "parameter_taken_for_its_gradient"  # it raises and warns nothing


@pytest.mark.parametrize("name", CASES)
def test_what_a_learner_meets_is_explained(name):
    program, versions = CASES[name].source, CASES[name].metadata
    if not Version(versions.get("since", "2.0")) <= Version(torch.__version__) < Version(versions.get("silent", "3.0")):
        pytest.skip(f"torch {torch.__version__} raises nothing here")
    assert told(program, NAMES)[-1].by == CASES[name].metadata["entry"]


def test_what_is_met_often_is_explained_and_nine_tenths_of_the_rest():
    left = {rank: [cell for cell in cells if not cell.metadata["entry"]] for rank, cells in RANKS.items()}
    assert {rank: len(cells) for rank, cells in RANKS.items()} == {"often": 34, "sometimes": 88, "rarely": 78}
    assert (len(left["often"]), len(left["sometimes"]), len(left["rarely"])) == (0, 0, 1)


@pytest.mark.parametrize("name", VARIED)
def test_a_cause_is_found_farther_away_or_not_invented(name):
    assert told(VARIED[name].source)[-1].by == VARIED[name].metadata["entry"]


@pytest.mark.parametrize("name", REPORTED)
def test_what_was_reported_is_explained(name):
    program = (REPORTS / f"b_{name}.py").read_text(encoding="utf-8")
    assert told(program, "")[-1].by == REPORTED[name]


def test_a_reported_program_that_says_nothing_has_a_note():
    names = run_cell((REPORTS / f"b_{SILENT}.py").read_text(encoding="utf-8"), "")
    (note,) = silent_mistakes(names["collect"])
    said = [message(note.id, **note.parameters).read(language) for language in LANGUAGES]
    assert all("p.grad" in each for each in said)


def test_every_report_is_tried():
    assert {f"b_{name}.py" for name in [*REPORTED, SILENT, HANGS]} == {path.name for path in REPORTS.glob("b_*.py")}
