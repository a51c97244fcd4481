"""Addresses at which readers find the site, its sources and its notebooks."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ...errors import UserError

_REPOSITORY = re.compile(r"https://github\.com/[A-Za-z0-9-]+/[A-Za-z0-9._-]+/tree/[A-Za-z0-9._/-]+")


@dataclass(frozen=True)
class Addresses:
    """Addresses of the site and of its repository on GitHub.

    Each may be "". `repository` names a branch: https://github.com/OWNER/NAME/tree/BRANCH. Raises UserError if it does
    not, or if `site` is no address of the web.
    """

    site: str = ""
    repository: str = ""

    def __post_init__(self) -> None:
        if self.site and not re.fullmatch(r"https?://[^\s?#]+[^\s?#/]", self.site):
            raise UserError(f"{self.site!r} is no address of a site: write one such as https://host/site")
        if self.repository and not _REPOSITORY.fullmatch(self.repository):
            form = "https://github.com/OWNER/NAME/tree/BRANCH"
            raise UserError(f"{self.repository!r} names no branch of a repository on GitHub: write {form}")

    def at(self, path: str) -> str:
        """Return the address of a file of the site, "" if the site has none."""
        return f"{self.site}/{path}" if self.site else ""

    def source(self, path: str) -> str:
        """Return the address of a file of the repository, "" if there is none."""
        return f"{self.repository.replace('/tree/', '/blob/', 1)}/{path}" if self.repository else ""

    @property
    def package(self) -> str:
        """The address from which pip installs the course, "" if there is no repository."""
        return f"git+{self.repository.replace('/tree/', '@', 1)}" if self.repository else ""

    def colab(self, language: str, name: str) -> str:
        """Return the address at which Colab opens the notebook of a page, "" if there is no repository."""
        opened = self.source(f"notebooks/{language}/{name}.ipynb")
        return opened.replace("https://github.com/", "https://colab.research.google.com/github/", 1)


NOWHERE = Addresses()
