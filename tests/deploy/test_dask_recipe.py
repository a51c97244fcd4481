"""The files of `deploy/dask`, read by the tools that know their form."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from autograder.lessons.source import REPOSITORY

RECIPE = REPOSITORY / "deploy" / "dask"


@pytest.mark.parametrize("version", ["1.33", "1.37"])
def test_the_manifest_follows_the_schemas_of_kubernetes(version: str) -> None:
    program = Path(sys.executable).with_name("kubernetes-validate")
    command = [program, "--strict", "--kubernetes-version", version, RECIPE / "kubernetes.yaml"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, "ERROR" in done.stdout + done.stderr) == (0, False), done.stdout + done.stderr


def test_workers_may_isolate_and_keep_nothing_on_disk() -> None:
    documents = {
        each["metadata"]["name"]: each for each in yaml.safe_load_all((RECIPE / "kubernetes.yaml").read_text()) if
        each["kind"] == "Deployment"
    }  # fmt: skip
    pod = documents["dask-worker"]["spec"]["template"]["spec"]
    (worker,) = pod["containers"]
    assert pod["hostUsers"] is False
    assert worker["securityContext"]["procMount"] == "Unmasked"
    assert {each["name"]: each["value"] for each in worker["env"]} == {
        "DASK_DISTRIBUTED__WORKER__MEMORY__SPILL": "False",
        "DASK_DISTRIBUTED__WORKER__MEMORY__TARGET": "False",
    }


def test_the_slurm_program_is_python() -> None:
    ast.parse((RECIPE / "slurm.py").read_text(encoding="utf-8"))
