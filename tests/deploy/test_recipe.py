"""The files of `deploy/jupyterhub`, read by linters and compared with each other."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import yaml

from autograder.lessons.source import REPOSITORY
from support.hub import proxy, services
from support.image import instructions

RECIPE = REPOSITORY / "deploy" / "jupyterhub"


def lint(program: str, *arguments: str | Path) -> None:
    done = subprocess.run([Path(sys.executable).with_name(program), *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_hadolint_finds_nothing() -> None:
    lint("hadolint", RECIPE / "Dockerfile")


def test_the_compose_file_follows_the_specification() -> None:
    lint("check-jsonschema", "--builtin-schema", "vendor.compose-spec", RECIPE / "compose.yaml")


def test_the_compose_file_keeps_what_the_image_makes() -> None:
    compose = yaml.safe_load((RECIPE / "compose.yaml").read_text(encoding="utf-8"))
    found = services(RECIPE / "compose.yaml")
    assert list(found) == ["course", "hub"]
    for service in found.values():
        build = service["build"]
        assert (RECIPE / build["context"] / build["dockerfile"]).resolve() == RECIPE / "Dockerfile"
    kept = dict(volume.split(":") for volume in found["hub"]["volumes"])
    assert kept.keys() == compose["volumes"].keys()
    steps = (RECIPE / "Dockerfile").read_text(encoding="utf-8")
    assert {"/home", *re.findall(r"--mode=\d+ (/srv\S+)", steps)} == set(kept.values())


def test_the_image_has_the_proxy_of_these_tests() -> None:
    steps = " ".join(rest for name, rest in instructions(RECIPE / "Dockerfile") if name == "RUN")
    version = subprocess.run([proxy(), "--version"], capture_output=True, text=True, check=True).stdout.strip()
    assert f"configurable-http-proxy@{version}" in steps
