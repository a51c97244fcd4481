"""The gallery of pictures, built and run in a real kernel."""

from __future__ import annotations

import re
from collections.abc import Iterator

import nbformat
import pytest
from nbclient import NotebookClient
from nbformat import NotebookNode

from autograder.cli import main
from autograder.language import LANGUAGES
from autograder.lessons.collection import COURSE
from autograder.messages.drawing import WORDS
from support.kernel import forked_kernels

# For each row of the table of features (B.3 of the reference on pictures) what the text twins must say of it: ids of
# sentences, with the parameters that the gallery's own graphs give, or facts that are the same in every language.
FEATURES: dict[int, list[str | tuple[str, dict[str, object]]]] = {
    1: ["● loss: ", "○ h: ", "◆ w: ", "◇ x: ", "◆ net.0.weight: "],
    2: [(f"kind.{kind}", {}) for kind in ("leaf", "constant", "number", "intermediate", "output")],
    3: [("stop", {})],
    4: [("output_number", {"number": 1})],
    5: [".grad –", ".grad = [106, 232]", ".grad = ‖·‖"],
    6: [
        *((f"state.{state}", {}) for state in ("held", "freed", "attribute")),
        ("state.modified", {"saved": 0, "now": 1}),
        ("state.packed", {"hook": "save_on_cpu"}),
        ("counted.here", {"bytes": 32}),
        *((f"counted.{place}", {}) for place in ("elsewhere", "input", "number")),
    ],
    7: [("total", {"bytes": 32})],
    8: [("hook", {"names": "clip"}), ("post_hook", {"names": "log"}), ("retains_grad", {})],
    9: [("version.changed", {"version": 1}), ("view_of", {"base": "base"})],
    10: [("steps.landed", {"name": "w", "before": "[100, 200]", "increment": "[6, 32]", "after": "[106, 232]"})],
    11: [("steps.title", {"name": "loss", "steps": 5}), ("steps.frees.bytes", {"bytes": 8}), ("steps.kept", {})],
    12: ["tensor([100., 200.]) None", ("note.freed", {}), ("note.module", {})],
    13: [("lane", {"name": "grad"})],
    14: ["[0] SumBackward0 → "],
    15: [("title.none", {})],
    16: [("arrows", {})],
}


@pytest.fixture(scope="module", params=LANGUAGES)
def ran(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, NotebookNode]:
    """The gallery in one language as its source gives it, run to its end."""
    language: str = request.param
    (gallery,) = COURSE.read(["gallery"])
    text = COURSE.files(gallery)[COURSE.notebooks / language / "gallery.ipynb"]
    notebook = nbformat.reads(text, as_version=4)
    folder = str(tmp_path_factory.mktemp(language))
    client = NotebookClient(notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": folder}})
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUPYTER_PATH", str(forked_kernels()))
        client.execute()
    return language, notebook


def outputs(notebook: NotebookNode) -> Iterator[NotebookNode]:
    for cell in notebook.cells:
        yield from cell.get("outputs", [])


def test_what_is_committed_is_what_the_source_gives(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["build", "--check", "gallery"]) == 0, capsys.readouterr().err


@pytest.mark.parametrize("number", FEATURES)
def test_every_feature_is_in_the_text_twins(ran: tuple[str, NotebookNode], number: int) -> None:
    language, notebook = ran
    told = "\n".join(output.get("text") or output["data"]["text/plain"] for output in outputs(notebook))
    for fact in FEATURES[number]:
        said = fact if isinstance(fact, str) else WORDS[fact[0]].format(**fact[1]).read(language)
        assert said in told


def test_every_picture_is_stored_in_every_form(ran: tuple[str, NotebookNode]) -> None:
    language, notebook = ran
    forms = [set(output.data) for output in outputs(notebook) if output.output_type == "execute_result"]
    still, pages = {"text/html", "image/png", "text/plain"}, {"text/html", "text/plain"}
    drawn = re.findall(
        r"^(?:draw|steps|plot_digits)\(", "\n".join(c.source for c in notebook.cells if c.cell_type == "code"), re.M
    )
    assert len(forms) == len(drawn) + 1  # the reply of `start`
    assert all(form in (still, pages) for form in forms)
    assert pages in forms
    assert not [output for output in outputs(notebook) if output.get("name") == "stderr"]
    words = " ".join(output.data["text/plain"] for output in outputs(notebook) if "data" in output)
    assert bool(re.search("[а-я]", words)) == (language == "ru")
