"""The changelog: notes of each version, and a feed of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from xml.sax.saxutils import escape

from .documents import FOLDER, document

CHANGELOG = "CHANGELOG.md"
FEED = "changes.xml"
_VERSION = re.compile(r"^## (?P<name>\S+)(?: - (?P<day>\d{4}-\d\d-\d\d))?\n(?P<notes>.*?)(?=^## |\Z)", re.M | re.S)


@dataclass(frozen=True)
class Version:
    """A section of the changelog. `notes` are Markdown."""

    name: str
    day: date
    notes: str


def versions(text: str) -> Iterator[Version]:
    """Yield the versions of a changelog, the newest first.

    What is not released yet has no date: its day is the one on which the changelog was last written.
    """
    for found in _VERSION.finditer(text):
        day = date.fromisoformat(found["day"]) if found["day"] else date.fromtimestamp(_written())
        if found["notes"].strip():
            yield Version(found["name"], day, found["notes"].strip())


def release_notes(version: str) -> str:
    """Return the notes of one version, in Markdown. Raises LookupError if the changelog has none."""
    for each in versions(document(CHANGELOG)):
        if each.name == version:
            return each.notes
    raise LookupError(f"{CHANGELOG} has no notes of version {version}: write them under `## {version} - YYYY-MM-DD`")


def feed(text: str, title: str, site: str) -> str:
    """Return a changelog as an Atom feed (RFC 4287). `site` is the address of the site, which is `title`."""
    from ..blocks import markdown  # which needs more than a release does

    own = f"{escape(site)}/{FEED}"
    found = [*versions(text)]
    entries = [
        f"<entry>\n<title>{escape(each.name)}</title>\n<id>{own}#{escape(each.name)}</id>\n"
        f'<link href="{escape(site)}/index.html"/>\n<updated>{_moment(each.day)}</updated>\n'
        f'<content type="html">{escape(markdown(each.notes))}</content>\n</entry>\n'
        for each in found
    ]
    newest = max((each.day for each in found), default=date.fromtimestamp(_written()))
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="en">\n'
        f'<title>{escape(title)}</title>\n<id>{own}</id>\n<link rel="self" href="{own}"/>\n'
        f'<link href="{escape(site)}/index.html"/>\n<updated>{_moment(newest)}</updated>\n'
        f"<author><name>{escape(title)}</name></author>\n{''.join(entries)}</feed>\n"
    )


def _written() -> float:
    return (FOLDER / CHANGELOG).stat().st_mtime


def _moment(day: date) -> str:
    return f"{day.isoformat()}T00:00:00Z"
