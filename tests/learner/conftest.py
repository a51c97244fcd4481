"""Built notebooks of one lesson, and a folder for working copies."""

import shutil
from pathlib import Path

import pytest

from autograder.language import LANGUAGES
from autograder.lessons.collection import COURSE
from support.solved import built_notebook


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """The notebooks of the lesson, built from its source as it is now."""
    folder = tmp_path_factory.mktemp("built")
    (lesson,) = COURSE.read(["gradient_accumulation"])
    for language in LANGUAGES:
        (folder / language).mkdir()
        (folder / language / f"{lesson.file_name}.ipynb").write_text(built_notebook(lesson, language), "utf-8")
    return folder


@pytest.fixture
def notebooks(built, tmp_path):
    return Path(shutil.copytree(built, tmp_path / "notebooks"))


@pytest.fixture
def work(tmp_path):
    return tmp_path / "work"
