"""Default settings of a JupyterLab: its language, and nbgrader's panels."""

from __future__ import annotations

import json
import os
from collections.abc import Collection
from pathlib import Path

LOCALES = {"en": "en", "ru": "ru_RU"}


def environment(settings: Path, language: str, hidden: Collection[str]) -> dict[str, str]:
    """Return environment variables for a JupyterLab in `language`, without the `hidden` panels of nbgrader.

    Default settings for this JupyterLab are written to the folder `settings`, which is put first on Jupyter's
    configuration path. The learner's own settings, such as theme and keys, still apply.
    """
    defaults = {
        "@jupyterlab/translation-extension:plugin": {"locale": LOCALES[language]},
        "@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False},
    }
    page = {"disabledExtensions": {f"@jupyter/nbgrader:{panel}": True for panel in hidden}}
    folder = settings.resolve()
    (folder / "labconfig").mkdir(parents=True, exist_ok=True)
    (folder / "labconfig" / "default_setting_overrides.json").write_text(json.dumps(defaults, indent=1))
    (folder / "labconfig" / "page_config.json").write_text(json.dumps(page, indent=1))
    path = [str(folder), *filter(None, [os.environ.get("JUPYTER_CONFIG_PATH")])]
    return {**os.environ, "JUPYTER_CONFIG_PATH": os.pathsep.join(path)}
