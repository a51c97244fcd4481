"""Publishing: the site's folder and addresses, files for GitHub, the notes of a version."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from autograder import __version__
from autograder.cli import main
from autograder.lessons.source import REPOSITORY
from autograder.site.publishing.changes import release_notes
from autograder.site.publishing.site_folder import update

GITHUB = REPOSITORY / ".github"
WORKFLOWS = sorted(GITHUB.glob("workflows/*.yml"))
CHANGELOG = """\
# Changelog

## Unreleased

## 0.2.0 - 2026-12-01

### Fixed
- The sum of `a` & `b`.

## 0.1.0 - 2026-11-27

### Added
- Everything.
"""


@pytest.mark.parametrize(
    ("schema", "files"),
    [
        ("github-workflows", WORKFLOWS),
        ("github-issue-forms", sorted(GITHUB.glob("ISSUE_TEMPLATE/[!c]*.yml"))),
        ("github-issue-config", [GITHUB / "ISSUE_TEMPLATE" / "config.yml"]),
        ("citation-file-format", [REPOSITORY / "CITATION.cff"]),
    ],
)
def test_a_file_for_github_follows_its_schema(schema: str, files: list[Path]) -> None:
    command = [Path(sys.executable).with_name("check-jsonschema"), "--builtin-schema", f"vendor.{schema}", *files]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_workflows_pin_actions_and_ask_for_little() -> None:
    assert len(WORKFLOWS) == 3
    for path in WORKFLOWS:
        text = path.read_text(encoding="utf-8")
        workflow = yaml.safe_load(text)
        assert workflow["permissions"] == {}
        assert workflow["concurrency"]["group"]
        for used in re.findall(r"uses: (\S+.*)", text):
            assert re.fullmatch(r"\./\.github/workflows/\w+\.yml|\S+@[0-9a-f]{40} # v[\d.]+", used), used
        for job in workflow["jobs"].values():
            assert job["permissions"]
            assert "${{" not in "".join(step.get("run", "") for step in job.get("steps", []))  # values come by env


def test_the_citation_names_this_version() -> None:
    assert yaml.safe_load((REPOSITORY / "CITATION.cff").read_text(encoding="utf-8"))["version"] == __version__


def test_a_version_has_the_notes_of_its_section(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("autograder.site.publishing.changes.document", lambda name: CHANGELOG)
    assert release_notes("0.1.0") == "### Added\n- Everything."
    for version in ("Unreleased", "0.3.0"):
        with pytest.raises(LookupError, match=version):
            release_notes(version)


def test_a_rebuild_deletes_its_own_old_pages_alone(tmp_path: Path) -> None:
    page = b"<html lang='en'><main data-pagefind-body>%s</main></html>"
    update(tmp_path, {"en/old.html": page % b"old", "en/kept.html": page % b"kept"})
    for name in ("en/stranger.html", "pagefind/stranger.txt", "CNAME"):
        (tmp_path / name).write_text("mine", encoding="utf-8")
    indexed = {path for path in (tmp_path / "pagefind").iterdir() if path.suffix == ".pf_meta"}
    update(tmp_path, {"en/kept.html": page % b"kept"})
    assert {path.relative_to(tmp_path).as_posix() for path in tmp_path.glob("en/*")} == {
        "en/kept.html",
        "en/stranger.html",
    }
    assert (tmp_path / "pagefind" / "stranger.txt").read_text(encoding="utf-8") == "mine"
    assert (tmp_path / "CNAME").is_file()
    assert indexed
    assert not any(path.exists() for path in indexed)  # the index of the old pages


@pytest.mark.parametrize("option", ["--address=example.org", "--repository=https://github.com/someone/course"])
def test_an_address_of_another_form_is_refused(option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["site", str(tmp_path), option]) == 1
    assert "write" in capsys.readouterr().err
    assert not any(tmp_path.iterdir())
