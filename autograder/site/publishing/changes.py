"""The changelog's notes of each version."""

from __future__ import annotations

import re

from .documents import document

CHANGELOG = "CHANGELOG.md"
_VERSION = re.compile(r"^## (\S+) - \d{4}-\d\d-\d\d\n(.*?)(?=^## |\Z)", re.M | re.S)


def release_notes(version: str) -> str:
    """Return the notes of one version, in Markdown. Raises LookupError if the changelog has none."""
    found: dict[str, str] = dict(_VERSION.findall(document(CHANGELOG)))
    if version not in found:
        raise LookupError(f"{CHANGELOG} has no notes of {version}: write them under `## {version} - YYYY-MM-DD`")
    return found[version].strip()
