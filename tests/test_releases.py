"""An instructor's course folder over time: what is collected, and what a newer version of the course brings."""

from __future__ import annotations

import re
import shutil
import zipfile
from pathlib import Path

import pytest
from course_folder import Course
from submissions import Submission, read

from autograder.authoring.build import COURSE
from autograder.grading.course import make_course

(LESSON,) = COURSE.read(["first_gradient"])
NAME = LESSON.file_name


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Course:
    """A course folder with one released lesson."""
    folder = tmp_path_factory.mktemp("a course") / "course"
    make_course(folder, None)
    course = Course(folder, LESSON, [])
    course.nbgrader("generate_assignment", NAME)
    return course


@pytest.fixture
def course(released: Course, tmp_path: Path) -> Course:
    """A copy of it for one test."""
    shutil.copytree(released.folder, tmp_path / "course")
    return Course(tmp_path / "course", LESSON, [])


# ----------------------------------------------------------------------------------------- files that came by a site


FILES = {
    "alice_03_": {
        f"alice_{NAME}.ipynb": ("alice", f"{NAME}.ipynb"),
        f"van_der_berg_{NAME}.ipynb": ("van_der_berg", f"{NAME}.ipynb"),
    },
    "Moodle": {
        f"Иван Петров_4711_assignsubmission_file_/{NAME}.ipynb": ("Иван Петров", f"{NAME}.ipynb"),
        f"Anna Maria O'Neill_4712_assignsubmission_file/{NAME} (1).ipynb": ("Anna Maria O'Neill", f"{NAME} (1).ipynb"),
        f"Olga_4713_assignsubmission_file_{NAME}.ipynb": ("Olga", f"{NAME}.ipynb"),
        "Olga_4713_assignsubmission_onlinetext_/onlinetext.html": None,
    },
    "Canvas": {
        f"petrovivan_4711_98765_{NAME}.ipynb": ("petrovivan", f"{NAME}.ipynb"),
        f"oneillanna_LATE_4712_98766_{NAME}-1.ipynb": ("oneillanna", f"{NAME}-1.ipynb"),
    },
}


@pytest.mark.parametrize("site", FILES)
def test_files_from_a_site_are_collected_with_the_line_of_the_config(course: Course, site: str) -> None:
    _uncomment(course.folder / "nbgrader_config.py", site)
    archive = course.folder / "downloaded" / NAME / "archive" / "Submissions-4711.zip"
    archive.parent.mkdir(parents=True)
    notebook = course.released("en").read_bytes()
    with zipfile.ZipFile(archive, "w") as file:
        for name in FILES[site]:
            file.writestr(name, notebook)
    course.nbgrader("zip_collect", NAME)
    found = {path.relative_to(course.folder / "submitted") for path in course.folder.glob("submitted/*/*/*")}
    wanted = [where for where in FILES[site].values() if where]
    assert found == {Path(student, NAME, name) for student, name in wanted}


def _uncomment(config: Path, site: str) -> None:
    """Take out the # before the line that follows the one about `site`."""
    text = config.read_text(encoding="utf-8")
    config.write_text(re.sub(rf"(\n# {site}.*\n)# (c\.)", r"\1\2", text), encoding="utf-8")
    assert config.read_text(encoding="utf-8") != text
