"""Comparison of keys that two processors have computed."""

import pytest

from autograder.authoring.built_files import is_same_key, stale


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ('{"tensor":[1.8950484,-0.25437021]}', '{"tensor":[1.8950485,-0.25437006]}', True),
        ('{"tensor":[1.8950484,0.0]}', '{"tensor":[1.8950484,1.9e-17]}', True),
        ('{"tensor":[1.8950484,0.0]}', '{"tensor":[1.8950484,0.1]}', False),
        ('{"tensor":[0.00012]}', '{"tensor":[0.00013]}', False),
        ('{"calls":[2,3]}', '{"calls":[2,4]}', False),
        ('{"says":"torch 2.11"}', '{"says":"torch 2.12"}', False),
        ("[0.5]\n[0.25]", "[0.5]", False),
    ],
)
def test_only_the_last_digits_of_numbers_may_differ(old, new, same):
    assert is_same_key(old, new) == same


def test_a_key_that_only_another_processor_computed_is_not_stale(tmp_path):
    key, text = tmp_path / "key.json", tmp_path / "notebook.ipynb"
    for file in (key, text):
        file.write_text("[1.8950484]", encoding="utf-8")
    assert stale({key: "[1.8950485]", text: "[1.8950485]"}) == [text]
    assert stale({key: "[1.9]", tmp_path / "new.json": "[]"}) == [key, tmp_path / "new.json"]
