"""The project: the recipe for authors, and environments of pip and conda."""

import ast
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import nbformat
import pytest
import yaml
from nbclient import NotebookClient

from autograder import extras
from autograder.arguments import read_arguments
from autograder.authoring.lint import banned_words, typography
from autograder.cli import main
from autograder.grading.commands.check_rules import describe_rules
from autograder.grading.rules.course_file import parse_rules
from autograder.language import decimal
from autograder.lessons.collection import COURSE
from autograder.lessons.notebooks import source_notebook
from autograder.lessons.paths import path_names, read_path
from autograder.lessons.source import REPOSITORY
from support.exercises import write_exercises

README = (REPOSITORY / "README.md").read_text(encoding="utf-8")
RUSSIAN_README = (REPOSITORY / "README.ru.md").read_text(encoding="utf-8")


def block_after(marker: str) -> str:
    recipe = (REPOSITORY / "CONTRIBUTING.md").read_text(encoding="utf-8")
    found = re.search(rf"<!-- {marker}.*? -->\n```python\n(.*?)```", recipe, re.S)
    assert found, marker
    return found[1]


@pytest.mark.usefixtures("quick_kernels")
def test_an_exercise_added_by_the_recipe_passes_the_gate(tmp_path, capsys):
    imports = (
        "import torch\n"
        "from autograder.checking.exercise import Case, aspect, exercise\n"
        "from autograder.language import Text\n"
    )
    heading = '# %% [markdown] tags=["en"]\n# # Twice\n# %% [markdown] tags=["ru"]\n# # Дважды\n'
    module, mistakes = imports + block_after("an exercise"), block_after("its mistakes")
    write_exercises(tmp_path, "twofold", {"twice": module}, {"twice": mistakes})
    (tmp_path / "lessons").mkdir()
    (tmp_path / "lessons" / "20_twofold.py").write_text(heading + block_after("its cells"), encoding="utf-8")
    course = ["--course", str(tmp_path)]
    assert main(["build", "--accept", "twofold", *course]) == 0
    assert main(["verify", *course]) == 0, capsys.readouterr().err
    assert "✓ twice: passed, 1/1 mistakes, 3 alternatives" in capsys.readouterr().out
    assert main(["verify", "twofold.twice", *course]) == 0
    assert main(["verify", "twofold.thrice", *course]) == 1
    assert "thrice" in capsys.readouterr().err
    notebook = nbformat.read(tmp_path / "source" / "20_twofold" / "20_twofold.ipynb", as_version=4)
    NotebookClient(notebook, resources={"metadata": {"path": str(tmp_path / "source" / "20_twofold")}}).execute()
    graded = notebook.cells[-1]
    assert graded.metadata.nbgrader.points == 1
    assert graded.outputs[0]["data"]["text/plain"] == "1"


MAP = (REPOSITORY / "notebooks" / "README.md").read_text(encoding="utf-8")
IDEAS = "\n# Ideas that come back\n"
GUIDES, OPERATIONS = (
    {
        language: (REPOSITORY / "autograder" / f"{name}{ending}.md").read_text(encoding="utf-8")
        for language, ending in (("en", ""), ("ru", ".ru"))
    }
    for name in ("TEACHING", "OPERATIONS")
)
RUSSIAN_GUIDES = GUIDES["ru"], OPERATIONS["ru"]


def commands(text: str) -> list[str]:
    """Return the lines of the blocks with commands, without comments and the words that stand for a name."""
    lines = "\n".join(re.findall(r"\n\n```\n(.*?)^```", text, re.S | re.M)).splitlines()
    return [line.split("#")[0].strip() for line in lines]


def test_both_readmes_have_the_same_commands():
    assert commands(README) == [line.replace(" --language ru", "") for line in commands(RUSSIAN_README)]


@pytest.mark.parametrize("language", GUIDES)
def test_readme_says_of_each_lesson_what_the_page_of_contents_says(language):
    readme = (REPOSITORY / f"README{'' if language == 'en' else '.ru'}.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| (\d\d) [^|]*\| (.*): \d+\s[^|:]*\| \d", readme, re.M))
    lessons = {each.file_name[:2]: each.about for each in COURSE.read() if each.file_name[:2].isdigit()}
    assert rows == {number: about[language] for number, about in lessons.items()} != {}


@pytest.mark.parametrize("language", GUIDES)
def test_readme_counts_the_exercises_of_each_lesson(language):
    readme = README if language == "en" else RUSSIAN_README
    for lesson in COURSE.read():
        if lesson.file_name[:2].isdigit():
            (row,) = re.findall(rf"^\| {lesson.file_name[:2]} .*: ([^|]*) \| \d", readme, re.M)
            assert int(row.split()[0]) == len(COURSE.exercises(lesson)), row
            assert (" and a question" in row or " и вопрос" in row) == any(lesson.with_role("written")), row


def minutes_points_needs(lesson):
    """What a page of a lesson says: minutes and points of its core, and the lessons that it builds on."""
    exercises = COURSE.exercises(lesson)
    points = sum(each.points for each in exercises.values() if each.core)
    points += sum(cell.metadata.get("points", 0) for _, cell in lesson.with_role("written"))
    return source_notebook(lesson, exercises).metadata["autograder"]["minutes"], points, lesson.needs


@pytest.mark.parametrize("language", GUIDES)
def test_readme_tells_minutes_points_and_what_comes_first(language):
    readme = README if language == "en" else RUSSIAN_README
    rows = re.findall(r"^\| (\d\d) .*\| (\d+) \| ([\d.,]+) \| ([\d, ]*) \|$", readme, re.M)
    said = {number: (int(minutes), float(points.replace(",", ".")), needs) for number, minutes, points, needs in rows}
    assert said == {lesson.file_name[:2]: minutes_points_needs(lesson) for lesson in COURSE.read()}


@pytest.mark.parametrize("language", GUIDES)
def test_the_guide_lists_the_paths(language):
    rows = re.findall(r"^\| `([\w-]+)` \| (.*) \| ([\d ·]+) \| ([\d.,]+) \|$", GUIDES[language], re.M)
    paths = [read_path(name) for name in path_names()]
    steps = [" · ".join(" ".join(part.lesson[:2] for part in step) for step in path.steps) for path in paths]
    assert rows == [
        (path.name, path.title.read(language), listed, decimal(round(path.minutes / 60, 1), language))
        for path, listed in zip(paths, steps)
    ]


@pytest.mark.parametrize("text", [RUSSIAN_README, *RUSSIAN_GUIDES], ids=["readme", "guide", "operations"])
def test_the_russian_guides_keep_to_the_glossary_and_to_typography(text):
    assert [*banned_words(text), *typography(text)] == []


@pytest.mark.parametrize("guide", [GUIDES, OPERATIONS], ids=["teaching", "operations"])
def test_both_guides_have_the_same_commands_and_outputs(guide):
    english, russian = guide.values()
    assert commands(english) == commands(russian)
    outputs = [re.findall(r"^```text\n(.*?)^```", text, re.S | re.M) for text in (english, russian)]
    assert outputs[0] == outputs[1] != []
    assert not re.findall(r"^```(?!text$|$).*", english + russian, re.M), "a block ends with a line of its own"


@pytest.mark.parametrize("language", GUIDES)
def test_readme_leads_to_questions_of_the_guide(language):
    """The links are those that GitHub makes of headings."""
    ending = "" if language == "en" else ".ru"
    readme = (REPOSITORY / f"README{ending}.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## (.*)$", GUIDES[language], re.M)
    slugs = [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings]
    listed = re.findall(rf"^\* \[(.*)\]\(autograder/TEACHING{ending}\.md#(.*)\)$", readme, re.M)
    assert len(listed) == 5
    assert listed == [each for each in zip(headings, slugs) if each in listed]
    assert f" {len(headings)} " in readme.partition("OPERATIONS")[0].splitlines()[-1]


@pytest.mark.parametrize("text", [README, *GUIDES.values(), *OPERATIONS.values()])
def test_every_command_of_the_guides_exists(text):
    inline = re.findall(r"`(autograder [^`]*)`", text)
    told = [line for line in commands(text) if line.startswith("autograder ")]
    told += [line for line in inline if len(line.split()) > 2]  # others name a command
    assert len(told) > 4
    for line in told:
        assert read_arguments(shlex.split(line)[1:]).command == line.split()[1], line


def test_the_guide_explains_a_deadline_as_the_command_does():
    (stated,) = re.findall(r"^With (`time_zone.*`) it prints:$", GUIDES["en"], re.M)
    settings = {line.split(" = ")[0]: line for line in re.findall(r"`([^`]*)`", stated)}
    whole = [
        settings.pop("time_zone"),
        settings.pop("late_days"),
        "[assignments.00_first_gradient]",
        *settings.values(),
    ]
    rules = parse_rules("\n".join(whole), "course.toml")
    line = describe_rules(rules.of("00_first_gradient"), rules)
    assert f"00_first_gradient: {line}\n" in GUIDES["en"]


def test_the_map_of_the_seeds_names_what_exists():
    seeds, _, _ = MAP.partition(IDEAS)
    lessons = {lesson.file_name[:2]: lesson for lesson in COURSE.read()}
    rows = [line.strip("|").split("|")[-1].strip() for line in seeds.splitlines() if line.startswith("| ")]
    places = [row for row in rows if row != "where"]
    assert seeds.count("\n## ") == 5
    assert len(places) > 70
    for place in places:
        found = re.findall(r"(\d\d) (`\w+`|\*.+?\*(?=$|, \d))", place)
        assert found, place
        for number, where in found:
            if where.startswith("`"):
                assert where.strip("`") in COURSE.exercises(lessons[number]), place
            else:
                headings = [cell.source for cell in lessons[number].cells if cell.language == "en"]
                assert any(f"## {where.strip('*')}\n" in f"{source}\n" for source in headings), place


def test_every_lesson_from_the_fourth_on_returns_to_an_earlier_idea():
    _, _, ideas = MAP.partition(IDEAS)
    lessons = {lesson.file_name[:2]: lesson for lesson in COURSE.read() if lesson.needs}
    rows = re.findall(r"^\| (\d\d) `(\w+)` \| (\d\d) `(\w+)` \| .+ \|$", ideas, re.M)
    assert len(rows) == ideas.count("\n| ") - 1
    assert {here for here, *_ in rows} == {number for number in lessons if number >= "03"}
    for here, later, first, earlier in rows:
        assert first < here
        assert later in COURSE.exercises(lessons[here]), later
        assert earlier in COURSE.exercises(lessons[first]), earlier


def test_conda_installs_the_packages_of_instructors():
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    conda = yaml.safe_load((REPOSITORY / "environment.yml").read_text())["dependencies"]
    pip = next(item["pip"] for item in conda if isinstance(item, dict))
    assert pip == ["--editable .[instructor]"]
    assert f"python{project['requires-python']}" in conda


def test_the_container_and_binder_install_and_start_the_lab(tmp_path):
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    container = json.loads((REPOSITORY / ".devcontainer" / "devcontainer.json").read_text())
    binder = REPOSITORY / ".binder"
    build = (binder / "postBuild").read_text()
    install = "python3 -m pip install --editable '.[lab]'"
    assert "lab" in project["optional-dependencies"]
    assert container["postCreateCommand"] == install
    assert install in build.replace(" --no-cache-dir", "")
    tested = yaml.safe_load((REPOSITORY / ".github" / "workflows" / "ci.yml").read_text())
    (python,) = re.findall(r"'python:(3\.\d+)-", str(tested))  # the constraints are of this version
    assert container["image"] == f"mcr.microsoft.com/devcontainers/python:{python}"
    assert (binder / "runtime.txt").read_text() == f"python-{python}\n"
    environment = container["containerEnv"]
    for name, value in environment.items():
        for place in re.findall(r"\$\{containerWorkspaceFolder\}/(.*)", value):
            assert (REPOSITORY / place).exists(), name
    assert f"PIP_EXTRA_INDEX_URL={environment['PIP_EXTRA_INDEX_URL']}" in build
    assert f"PIP_EXTRA_INDEX_URL={environment['PIP_EXTRA_INDEX_URL']}`" in README
    assert 'PIP_CONSTRAINT="$PWD/constraints.txt"' in build
    assert read_arguments(container["postAttachCommand"].split()[3:]).command == "lab"
    subprocess.run(["bash", "-n", binder / "postBuild"], check=True)
    assert os.access(binder / "postBuild", os.X_OK)
    for language, words in re.findall(
        r"v2/gh/OWNER/NAME/BRANCH\?urlpath=lab/tree/work/(..)/(.*)`", README + RUSSIAN_README
    ):
        assert main(["lab", "--prepare", "--language", language, "--work", str(tmp_path)]) == 0
        assert (tmp_path / language / words).is_file()
    settings = {**os.environ, "JUPYTER_CONFIG_PATH": str(REPOSITORY / ".devcontainer")}
    command = [sys.executable, "-m", "jupyterlab", "--show-config-json"]
    shown = subprocess.run(command, env=settings, capture_output=True, text=True, check=True).stdout
    pattern = json.loads(shown)["ServerApp"]["allow_origin_pat"]
    port = container["forwardPorts"][0]
    assert re.fullmatch(pattern, f"https://fluffy-space-disco-4x5g-{port}.app.github.dev")
    assert not re.fullmatch(pattern, "https://example.org")


def test_a_learner_needs_torch_and_numpy_alone():
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    assert [each.split(">")[0] for each in project["dependencies"]] == ["torch", "numpy"]
    assert project["name"] == extras.DISTRIBUTION
    least = project["dependencies"][0].split(">=")[1]
    assert f"the course needs {least}:" in README
    assert f"курсу нужен torch {least}:" in RUSSIAN_README
    for name, modules in extras.MODULES.items():
        packages = {each.split(">")[0].replace("-", "_") for each in project["optional-dependencies"][name]}
        assert set(modules) - {"nbformat", "yaml"} <= packages  # they come with nbclient and pyyaml


def test_what_the_package_imports_is_declared():
    """What only comes along with another package is gone when that package changes."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    declared = {re.split(r"[>\[]", each)[0] for extra in project["optional-dependencies"].values() for each in extra}
    by_module = packages_distributions()
    code = [file for file in (REPOSITORY / "autograder").rglob("*.py") if "cures" not in file.parts]
    names = {name for file in code for name in _imported(file)} - sys.stdlib_module_names - {"autograder", "torch"}
    parts = {"IPython", "dask", "jupyter_client", "jupyter_core", "jupyter_server", "matplotlib_inline", "nbformat"}
    names -= parts | {"google", "numpy", "pygments"}  # of Jupyter and Dask; Colab's; a dependency; of nbconvert
    assert {name for name in names if not declared & {each.lower() for each in by_module.get(name, [])}} == set()


def _imported(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            yield node.module.partition(".")[0]


def test_the_tested_versions_satisfy_the_ranges():
    from packaging.requirements import Requirement

    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    pins = dict(line.split("==") for line in (REPOSITORY / "constraints.txt").read_text().split())
    wanted = [
        *project["dependencies"],
        *(each for extra in project["optional-dependencies"].values() for each in extra),
    ]
    pinned = {name.lower().replace("_", "-"): version for name, version in pins.items()}
    for requirement in (each for each in map(Requirement, wanted) if each.name != project["name"]):
        assert requirement.specifier.contains(pinned[requirement.name.lower().replace("_", "-")])
    assert pins["torch"] == "2.13.0"


def test_the_tested_versions_run_on_the_oldest_python():
    from importlib.metadata import distributions

    from packaging.specifiers import SpecifierSet
    from packaging.utils import canonicalize_name

    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    oldest = project["requires-python"].removeprefix(">=") + ".0"
    lines = (REPOSITORY / "constraints.txt").read_text().split()
    pins = {canonicalize_name(line.split("==")[0]) for line in lines}
    installed = {canonicalize_name(each.name): each.metadata.get("Requires-Python") or "" for each in distributions()}
    needs = {name: python for name, python in installed.items() if name in pins}
    assert len(needs) > 100
    assert [name for name, python in needs.items() if oldest not in SpecifierSet(python)] == []


def test_graphviz_draws_without_a_system_package(tmp_path):
    program = (
        "import graphviz, pygraphviz\n"
        "dot = graphviz.Digraph(); dot.edge('a', 'b')\n"
        "graph = pygraphviz.AGraph(dot.source); graph.layout(prog='dot')\n"
        "assert b'<svg' in graph.draw(format='svg') and graph.draw(format='png')[:4] == b'\\x89PNG'\n"
    )
    environment = {**os.environ, "PATH": str(tmp_path)}
    subprocess.run([sys.executable, "-c", program], env=environment, check=True)


def test_the_language_of_the_environment_does_not_choose_the_notebooks():
    def lab(*words: str) -> str:
        done = subprocess.run(
            ["make", "--dry-run", "lab", *words],
            cwd=REPOSITORY,
            env={**os.environ, "LANGUAGE": "de_DE:de"},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    assert "lab --language en" in lab()
    assert "lab --language ru" in lab("LANGUAGE=ru")


def test_ci_calls_the_test_command_of_readme():
    assert "make test" in README
    assert Path(REPOSITORY / ".ci" / "run").read_text().rstrip().endswith("\nmake test")
