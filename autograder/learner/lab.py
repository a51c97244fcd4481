"""`autograder lab`: JupyterLab on the learner's notebooks, in the learner's language.

The learner's own Jupyter settings stay unchanged.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from ..messages.cards import message

LOCALES = {"en": "en", "ru": "ru_RU"}
INSTRUCTORS = ("create-assignment", "formgrader", "course-list", "assignment-list", "menu")  # not for learners
PATIENCE = 60.0


def open_lab(work: Path, language: str) -> int:
    """Run JupyterLab on the folder `work`, showing `work/LANGUAGE`, until it is stopped.

    Prints the address, and opens a browser if there is a screen. Returns the exit status, 0 after Ctrl+C.
    """
    command = [
        *(sys.executable, "-m", "jupyterlab"),
        f"--ServerApp.root_dir={work.resolve()}",
        f"--LabApp.default_url=/lab/tree/{language}",
        "--ServerApp.log_level=WARN",  # keeps the address visible among the log lines
    ]
    if not has_screen(os.environ):
        command.append("--no-browser")
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        command.append("--allow-root")  # root is often the only user of a container
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
    """Return whether a browser can open on this machine. `environ` holds the environment variables."""
    if environ.get("CI"):
        return False
    return not sys.platform.startswith("linux") or bool(environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY"))


def environment(work: Path, language: str) -> dict[str, str]:
    """Return environment variables for a JupyterLab in `language`.

    Default settings for this JupyterLab are written to `work/.jupyter`, which is put first on Jupyter's configuration
    path. The learner's own settings, such as theme and keys, still apply.
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
    """Return address and token of a starting Jupyter server.

    Returns None if the server ended or did not start within PATIENCE seconds.
    """
    from jupyter_server.serverapp import list_running_servers

    until = time.monotonic() + PATIENCE
    while server.poll() is None and time.monotonic() < until:
        for running in list_running_servers():
            if running.get("pid") == server.pid:
                return str(running["url"]), str(running["token"])
        time.sleep(0.2)
    return None
