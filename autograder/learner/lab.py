"""`autograder lab`: JupyterLab on the working copy, in the learner's language, without touching their own settings."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from ..messages.interface import message

LOCALES = {"en": "en", "ru": "ru_RU"}
INSTRUCTORS = ("create-assignment", "formgrader", "course-list", "assignment-list", "menu")  # nothing for a learner
PATIENCE = 60.0


def open_lab(work: Path, language: str) -> int:
    """Run JupyterLab on `work`, opened at `work/LANGUAGE`, until it is stopped. Returns its exit status (Ctrl+C: 0).

    Without a screen no browser is opened. The address is printed in any case.
    """
    command = [
        *(sys.executable, "-m", "jupyterlab"),
        f"--ServerApp.root_dir={work.resolve()}",
        f"--LabApp.default_url=/lab/tree/{language}",
        "--ServerApp.log_level=WARN",  # so that the address is not lost among other lines
    ]
    if not has_screen(os.environ):
        command.append("--no-browser")
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        command.append("--allow-root")  # a container has no other user
    server = subprocess.Popen(command, env=environment(work, language))
    try:
        url = _address(server)
        if url:
            print(message("lab.address", url=f"{url[0]}lab/tree/{language}?token={url[1]}").read(language), flush=True)
        return server.wait()
    except KeyboardInterrupt:
        server.terminate()
        server.wait()
        return 0


def has_screen(environ: Mapping[str, str]) -> bool:
    """Is there a screen that a browser could open on?"""
    if environ.get("CI"):
        return False
    return not sys.platform.startswith("linux") or bool(environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY"))


def environment(work: Path, language: str) -> dict[str, str]:
    """The environment of a JupyterLab that speaks `language`: its defaults come from `work/.jupyter`.

    They are defaults, put before others on Jupyter's configuration path: what the learner has set themselves still
    counts (theme, keys), and nothing is written outside `work`.
    """
    defaults = {
        "@jupyterlab/translation-extension:plugin": {"locale": LOCALES[language]},
        "@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False},
    }
    page = {"disabledExtensions": {f"@jupyter/nbgrader:{panel}": True for panel in INSTRUCTORS}}
    folder = (work / ".jupyter").resolve()
    (folder / "labconfig").mkdir(parents=True, exist_ok=True)
    (folder / "labconfig" / "default_setting_overrides.json").write_text(json.dumps(defaults, indent=1))
    (folder / "labconfig" / "page_config.json").write_text(json.dumps(page, indent=1))
    path = [str(folder), *filter(None, [os.environ.get("JUPYTER_CONFIG_PATH")])]
    return {**os.environ, "JUPYTER_CONFIG_PATH": os.pathsep.join(path)}


def _address(server: subprocess.Popen[bytes]) -> tuple[str, str] | None:
    """The address and the token of a server that is starting; None when it ended or takes too long."""
    from jupyter_server.serverapp import list_running_servers

    until = time.monotonic() + PATIENCE
    while server.poll() is None and time.monotonic() < until:
        for running in list_running_servers():
            if running.get("pid") == server.pid:
                return str(running["url"]), str(running["token"])
        time.sleep(0.2)
    return None
