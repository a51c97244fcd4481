"""Requests on the sockets: the other side has a method for each."""

from __future__ import annotations

from enum import StrEnum

import pytest

from autograder.grading.sandbox.child.worker import Worker
from autograder.grading.sandbox.server.fork_server import ForkServer
from autograder.grading.sandbox.wire.wire_messages import ChildRequest, ServerRequest


@pytest.mark.parametrize(("requests", "answers"), [(ChildRequest, Worker), (ServerRequest, ForkServer)])
def test_every_request_has_a_method(requests: type[StrEnum], answers: type) -> None:
    assert {f"do_{each}" for each in requests} == {name for name in vars(answers) if name.startswith("do_")}
