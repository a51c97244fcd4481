"""Built notebooks of one lesson, and a folder for working copies."""

import shutil
from pathlib import Path

import pytest

from autograder.authoring.build import COURSE


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """The notebooks of the lesson, built from its source as it is now."""
    folder = tmp_path_factory.mktemp("built")
    (lesson,) = COURSE.read(["gradient_accumulation"])
    for path, text in COURSE.files(lesson).items():
        if path.suffix == ".ipynb":
            (folder / path.parent.name).mkdir(exist_ok=True)
            (folder / path.parent.name / path.name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def notebooks(built, tmp_path):
    return Path(shutil.copytree(built, tmp_path / "notebooks"))


@pytest.fixture
def work(tmp_path):
    return tmp_path / "work"
