"""What the other systems export: names of folders and files, after the source named at each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

CAME = datetime(2026, 9, 17, 18, 5)


@dataclass(frozen=True)
class Person:
    """A student: name, user name and number."""

    given: str
    surname: str
    user: str
    number: int

    @property
    def name(self) -> str:
        return f"{self.given} {self.surname}"


Files = dict[str, str]


def ilias(people: list[Person], notebooks: Mapping[str, str]) -> Files:
    """Folders such as `Lee_Ann_alee_4711`: the download of all submissions of an exercise."""
    return {f"Blatt 01/Abgaben/{p.surname}_{p.given}_{p.user}_{p.number}/x.ipynb": notebooks[p.user] for p in people}


def open_edx(people: list[Person], notebooks: Mapping[str, str]) -> Files:
    """`_submission_directory_name` and what follows in `openassessment/data.py` of edx-ora2."""
    unit = "[1]Introduction, [1]Overview, [1]Lab"
    return {f"{unit}/[1] - {p.user}/[1] - x.ipynb": notebooks[p.user] for p in people}


def google_classroom(people: list[Person], notebooks: Mapping[str, str]) -> Files:
    """The folder of an assignment in Drive: all files in one folder, with the name in front."""
    return {f"Lab 0/{p.name} - x.ipynb": notebooks[p.user] for p in people}


def drive(people: list[Person], notebooks: Mapping[str, str]) -> Files:
    """A shared folder in which everybody has a folder."""
    return {f"Lab 0/{p.name}/x.ipynb": notebooks[p.user] for p in people}


def teams(people: list[Person], notebooks: Mapping[str, str]) -> Files:
    """The folder `Student Work` of Microsoft Teams, with a folder for each version."""
    above = "Student Work/Submitted files"
    return {f"{above}/{p.name}/Lab 0/Version 1/x.ipynb": notebooks[p.user] for p in people}


def brightspace(people: list[Person], notebooks: Mapping[str, str]) -> Files:
    """Public programs that rename folders such as `397063-2557369 - Ann Lee - Sep 24, 2026 926 PM`."""
    hour = f"{CAME.hour % 12}{CAME:%M %p}"
    folder = "397063-{} - {} - " + f"{CAME:%b} {CAME.day}, {CAME.year} {hour}"
    files = {f"{folder.format(p.number, p.name)}/x.ipynb": notebooks[p.user] for p in people}
    return {**files, "index.html": "<html>"}


def sakai(people: list[Person], notebooks: Mapping[str, str]) -> Files:
    """`zipSubmissions` in Sakai's `AssignmentServiceImpl.java`."""
    files = {"Lab 0/grades.csv": "Lab 0,Points\n"}
    for p in people:
        above = f"Lab 0/{p.surname}, {p.given}({p.user})"
        files[f"{above}/timestamp.txt"] = f"{CAME:%Y-%m-%dT%H:%M:%S}Z"
        files[f"{above}/Submission attachment(s)/x.ipynb"] = notebooks[p.user]
        files[f"{above}/comments.txt"] = ""
    return files


def github_classroom(people: list[Person], notebooks: Mapping[str, str]) -> Files:
    """The folders that `gh classroom clone student-repos` makes: assignment and user name."""
    return {f"lab-0-submissions/lab-0-{p.user}/x.ipynb": notebooks[p.user] for p in people}


def gradescope(people: list[Person], notebooks: Mapping[str, str]) -> Files:
    """The export of submissions: folders with numbers, and `submission_metadata.yml` with the names."""
    lines: list[str] = []
    for p in people:
        lines += [f"submission_{p.number}:", "  :submitters:", f"  - :name: {p.name}", f"    :sid: '{p.user}'"]
        lines += [
            f"    :email: {p.user}@uni.example",
            f"  :created_at: {CAME:%Y-%m-%d %H:%M:%S}.123 Z",
            "  :score: 1.0",
        ]
    files = {f"assignment_1_export/submission_{p.number}/x.ipynb": notebooks[p.user] for p in people}
    return {**files, "assignment_1_export/submission_metadata.yml": "\n".join(lines)}


FORMS: dict[str, Callable[[list[Person], Mapping[str, str]], Files]] = {
    each.__name__: each
    for each in (ilias, open_edx, google_classroom, drive, teams, brightspace, sakai, github_classroom, gradescope)
}
TELL_TIMES = ("brightspace", "sakai", "gradescope")
TELL_PEOPLE = ("drive", "teams", *TELL_TIMES)  # also without students.csv
