"""The config of a course: nbgrader's settings for each language."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest
from nbgrader import preprocessors
from nbgrader.apps.api import NbGraderAPI
from nbgrader.converters import GenerateAssignment
from nbgrader.utils import as_timezone
from traitlets.config import Config

from autograder.grading.plugin.nbgrader_settings import configure
from autograder.lessons import notebooks


@pytest.mark.parametrize(("language", "ending", "dropped"), [("en", "", "ru"), ("ru", "-ru", "en")])
def test_the_language_of_a_release(language: str, ending: str, dropped: str) -> None:
    config = Config()
    configure(config, "calculus", language)
    once = str(config)
    configure(config, "calculus", language)
    assert str(config) == once
    assert config.CourseDirectory.course_id == f"calculus{ending}"
    assert config.CourseDirectory.release_directory == f"release{ending}"
    assert config.OneLanguage.remove_cell_tags == {dropped}


def test_formgrader_shows_the_courses_time(tmp_path: Path) -> None:
    (tmp_path / "course.toml").write_text('time_zone = "Asia/Kathmandu"', encoding="utf-8")
    config = Config()
    configure(config, "calculus", "en", str(tmp_path))
    api = NbGraderAPI(config=config)
    shown = as_timezone(datetime(2026, 9, 1, 12), api.timezone)  # as its pages do
    assert shown.strftime(api.timestamp_format) == "2026-09-01 17:45:00 +0545"


def test_nbgraders_own_steps_stay() -> None:
    config = Config()
    configure(config, "calculus", "en")
    steps = config.GenerateAssignment.preprocessors
    theirs = GenerateAssignment.preprocessors.default()
    assert steps[0] is notebooks.OneLanguage
    assert [preprocessors.ClearSolutions if s is notebooks.ClearSolutions else s for s in steps[1:]] == theirs
