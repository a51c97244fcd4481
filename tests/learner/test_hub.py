"""`autograder singleuser` where a hub has set something wrong; a real hub is in `tests/deploy`."""

import os
import subprocess
import sys

import pytest

COMMAND = "from autograder.cli import main; raise SystemExit(main(['singleuser']))"


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("AUTOGRADER_LANGUAGE", "de", "AUTOGRADER_LANGUAGE is 'de': set it to one of en, ru"),
        ("AUTOGRADER_COURSE", "nowhere", "the course folder nowhere cannot be entered: No such file or directory"),
    ],
)
def test_what_is_wrong_is_said(variable, value, said, tmp_path):
    environment = {**os.environ, "HOME": str(tmp_path), variable: value}
    done = subprocess.run([sys.executable, "-c", COMMAND], env=environment, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith(f"autograder: {said}")
