"""Collecting grows no faster than the class."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

from support.course import Course
from support.first_gradient import NAME
from support.growth import growth
from support.lms import Participant, collect, moodle_folder, write_archive, write_worksheet


def test_a_class_of_any_size(course: Course, work: Callable[..., str], tmp_path: Path) -> None:
    def hand_in(size: int) -> Callable[[], object]:
        came = datetime(2026, 9, 17, 9, 0)
        people = [
            Participant(4000 + n, f"Student {n}", f"s{n}", f"s{n}@uni.example", came + timedelta(minutes=n))
            for n in range(size)
        ]
        files = {f"{moodle_folder(who)}/{NAME}.ipynb": work(who.id_number) for who in people}
        archive = write_archive(tmp_path / f"{size}.zip", files)
        sheet = write_worksheet(tmp_path / f"{size}.csv", people)
        return lambda: collect(course, archive, "--worksheet", sheet, "--add")

    assert growth(hand_in, (3, 12, 48)) < 1.2
    assert len([*(course.folder / "submitted").iterdir()]) == 48
