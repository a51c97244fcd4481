"""Grading on three machines, while workers and the head are killed.

The machines are network namespaces without a shared folder.
`SCALE_SUBMISSIONS=10000` makes it the large trial, in both kinds of gradebooks.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from grading.scale.mixed_course import MixedCourse, kind_of
from support.dask_cluster import DaskCluster
from support.needs import find_program, lack
from support.postgres import Postgres

pytestmark = pytest.mark.long(20)

COUNT = int(os.environ.get("SCALE_SUBMISSIONS", "60"))
PAUSE = 0 if COUNT > 1000 else 0.4  # seconds that a submission sleeps: workers must not finish before the kills
DATABASES = ["postgresql", "sqlite"] if COUNT > 1000 else ["postgresql"]  # other tests of Dask use SQLite


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> tuple[MixedCourse, dict[str, Any]]:
    """Return a course with a submission of each kind, and the results of a single machine by kind."""
    kinds = MixedCourse.make(tmp_path_factory.mktemp("one") / "calculus", PAUSE)
    copied = MixedCourse(kinds.course.copy(tmp_path_factory.mktemp("graded")))
    grader = copied.start()
    grader.communicate()
    assert grader.returncode == 1, "broken ones fail"
    return kinds, {kind_of(student): found for student, found in copied.results()}


@pytest.mark.nightly(twin="tests/grading/scale/test_dask.py::test_a_worker_gives_the_same_results")
@pytest.mark.parametrize("database", DATABASES)
def test_every_submission_has_one_result_whatever_dies(
    database: str, expected: tuple[MixedCourse, dict[str, Any]], tmp_path: Path
) -> None:
    if os.geteuid() != 0:
        lack("only root makes network namespaces for others")
    find_program("ip", remedy="apt-get install iproute2")
    kinds, results = expected
    course = MixedCourse(kinds.course.copy(tmp_path / "head"))
    course.multiply(COUNT)
    server = Postgres() if database == "postgresql" else None
    if server:
        course.use(server.make_database("book"))
    with DaskCluster(tmp_path / "cluster", hidden=tmp_path / "head", networks=True) as cluster:
        workers = [cluster.add_worker(network=each) for each in cluster.networks]
        head = course.start("--scheduler", cluster.address)

        def reach(share: float) -> None:
            """Wait until a share of the submissions is graded."""
            while course.graded() < share * COUNT:
                assert head.poll() is None, head.communicate()[1]
                time.sleep(0.05)

        reach(0.1)
        workers[0].kill()
        reach(0.2)
        cluster.add_worker(network=cluster.networks[0])
        reach(0.3)
        assert_no_secret(course.secret, cluster)
        head.kill()
        head.communicate()
        head = course.start("--scheduler", cluster.address)
        reach(0.5)
        workers[1].kill()
        said, complaints = head.communicate()
    assert head.returncode == 1, complaints
    reported = [each["student"] for found in json.loads(said).values() for each in found]
    assert sorted(reported) == sorted(path.name for path in (course.folder / "submitted").iterdir())
    found = dict(course.results())
    assert {name: each for name, each in found.items() if each != results[kind_of(name)]} == {}
    assert len(found) == COUNT
    if server:
        server.stop()


def assert_no_secret(secret: str, cluster: DaskCluster) -> None:
    """Look for the secret on the disk of the workers, and in the environment of their processes."""
    for path in cluster.folder.rglob("*"):
        with contextlib.suppress(FileNotFoundError):
            assert not path.is_file() or secret.encode() not in path.read_bytes(), path
    for worker in cluster.processes:
        for process in [psutil.Process(worker.pid), *psutil.Process(worker.pid).children(recursive=True)]:
            with contextlib.suppress(psutil.Error):
                assert secret not in repr((process.cmdline(), process.environ())), process
