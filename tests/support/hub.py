"""A real JupyterHub on a machine of its own, and a Chromium on the machine's network."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml
from playwright.sync_api import Browser, expect, sync_playwright

from support.browser import CHROMIUM, PATIENCE, chromium
from support.image import Image
from support.machine import Machine
from support.needs import find_program


def proxy() -> Path:
    """Return the path of JupyterHub's proxy. Without one a test fails in CI and is skipped elsewhere."""
    return Path(find_program("configurable-http-proxy", remedy="npm install it globally, as .ci/run does"))


def services(compose: Path) -> dict[str, dict[str, Any]]:
    """Return the services of a compose file by name, in the order in which they start."""
    found: dict[str, dict[str, Any]] = yaml.safe_load(compose.read_text(encoding="utf-8"))["services"]
    return dict(sorted(found.items(), key=lambda item: len(item[1].get("depends_on", {}))))


def wait_until(met: Callable[[], bool], log: Path | None = None) -> None:
    """Wait for a condition. `log` is a file that tells why it was not met in time."""
    until = time.monotonic() + PATIENCE / 1000
    while not met():
        assert time.monotonic() < until, log.read_text(encoding="utf-8") if log else met
        time.sleep(0.1)


@contextmanager
def running(machine: Machine, image: Image, service: dict[str, Any], log: Path) -> Iterator[None]:
    """Run a service until it answers on the hub's address; end it afterwards."""
    command = machine.command(*service.get("command", image.command), cwd=image.workdir)
    with log.open("w") as said:
        hub = subprocess.Popen(command, env=machine.variables, stdout=said, stderr=said)
        try:
            wait_until(lambda: hub.poll() is not None or "is now running at" in log.read_text(encoding="utf-8"), log)
            assert hub.poll() is None, log.read_text(encoding="utf-8")
            yield
        finally:
            hub.terminate()
            hub.wait(30)


@contextmanager
def browser(machine: Machine) -> Iterator[Browser]:
    """Start a Chromium on the machine's network."""
    program = machine.folder / "chromium"
    program.write_text(f'#!/bin/sh\nexec nsenter --target={machine.process} --net {chromium()} "$@"\n')
    program.chmod(0o755)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=CHROMIUM)
        expect.set_options(timeout=PATIENCE)
        yield started
        started.close()
