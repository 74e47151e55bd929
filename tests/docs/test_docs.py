"""The documentation is true: its examples run, and nothing public is missing from it."""

from __future__ import annotations

import importlib.util
import inspect
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import dpdistinct
from dpdistinct.cli import main as cli
from made_up import write_sales, write_visits
from samplers import Quiet

ROOT = Path(__file__).parents[2]
FOLDERS = ("docs", "docs/recipes", "docs/walks")
PAGES = [ROOT / "README.md", *(page for folder in FOLDERS for page in sorted(ROOT.glob(f"{folder}/*.md")))]
FILES = {"csv": "toy.csv", "toml": ".config/dpdistinct.toml"}  # what a page shows as a file is that file
ELSEWHERE = ("spark", "airflow", "dbt")  # run by test_spark.py and test_recipes.py
HERE = [page for page in PAGES if page.stem not in ELSEWHERE]


COMMAND = r"(?:[A-Z_]+=\S+ )*dpdistinct "


def blocks(page: Path, language: str) -> list[str]:
    """The fenced blocks of this language, in order."""
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the examples run: a table of who visited which page, from which country, on which day."""
    write_visits(tmp_path / "visits.csv")
    write_sales(tmp_path / "sales.csv", 3_000)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("page", [p for p in HERE if blocks(p, "python")], ids=name_of)
def test_every_python_example_runs(page: Path, folder: Path) -> None:
    """The blocks of a page are one program."""
    exec(compile("\n".join(blocks(page, "python")), name_of(page), "exec"), {"__name__": "example"})


@pytest.mark.parametrize("page", [p for p in HERE if blocks(p, "console") or blocks(p, "sh")], ids=name_of)
def test_every_command_of_ours_runs_and_prints_what_is_shown(
    page: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Lines that start with dpdistinct, after a prompt or the folder of the environment. Numbers differ."""
    # With noise, an answer at epsilon = 0.1 is once in thousands of runs that there is too little data.
    for module in ("answers.drawing", "trusted.explore"):
        monkeypatch.setattr(f"dpdistinct.{module}.OpenDPSampler", Quiet)
    for language, name in FILES.items():
        for content in blocks(page, language):
            named = re.match(r"# (\S+\.toml)\n", content)  # its first line may say which file it is
            file = folder / (named[1] if named else name)
            file.parent.mkdir(exist_ok=True)
            file.write_text(content)
    monkeypatch.setenv("HOME", str(folder))
    for block in blocks(page, "console") + blocks(page, "sh"):
        for command, shown in re.findall(
            rf"^(?:\$ )?(?:\.venv/bin/)?({COMMAND}(?:.*\\\n)*.*)\n((?:(?!\$ |{COMMAND}).*\n)*)", block, re.M
        ):
            if re.match("dpdistinct [^|<>;&$`]*$", command):
                status, out, err = in_this_process(command, monkeypatch, capsys)
            else:
                status, out, err = in_a_shell(command)
            assert status == 0, command
            # Only what is left of a budget, and that epsilon is large, is said beside the answer.
            said = (
                r" has .* left in /|\.config/dpdistinct\.toml decides: |warning: epsilon = .* protects little"
            )
            assert all(re.search(said, line) for line in err.splitlines()), command
            if shown.strip():
                assert without_numbers(out.replace(str(folder), "/home/job")) == without_numbers(shown)


def in_a_shell(command: str) -> tuple[int, str, str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": path}
    result = subprocess.run(command, shell=True, env=environment, capture_output=True, text=True)
    return result.returncode, result.stdout, result.stderr


def in_this_process(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> tuple[object, str, str]:
    """The same for a command of plain words: a process of its own takes longer to start than to answer."""
    monkeypatch.setattr(sys, "argv", shlex.split(command.replace("\\\n", " "), comments=True))
    with pytest.raises(SystemExit) as ended:
        cli.main()
    return ended.value.code, *capsys.readouterr()


def test_the_folder_of_a_team_is_made_as_the_page_says(folder: Path) -> None:
    """The name of the group is replaced, and nothing else."""
    (commands,) = blocks(ROOT / "docs" / "ledger.md", "shell")
    assert "GROUP" in commands
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    program = commands.replace("GROUP", str(os.getgid()))
    subprocess.run(["bash", "-ec", program], cwd=folder, env=os.environ | {"PATH": path}, check=True)
    assert (folder / "team" / "budget.db").stat().st_mode & 0o060 == 0o060  # the group may write it


def without_numbers(text: str) -> str:
    """Bars are as long as the noise makes them, and columns as wide. Exit statuses stay."""
    numbers = re.sub(r"(?<!status )(?<!status\": )-?\d[\d,]*(\.\d+)?", "N", re.sub("[█░]", "", text.strip()))
    return re.sub(r" +(\n|$)?", lambda spaces: spaces[1] or " ", numbers)


def generator(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_reference_of_the_command_line_is_what_help_prints() -> None:
    page = (ROOT / "docs" / "cli.md").read_text()
    assert page == generator("generate_cli").command_reference(), "run: python docs/generate_cli.py"


def test_the_reference_of_python_is_what_the_docstrings_say() -> None:
    page = (ROOT / "docs" / "api.md").read_text()
    assert page == generator("generate_api").api_reference(), "run: python docs/generate_api.py"


def sections_of_api() -> dict[str, str]:
    """What docs/api.md says about each name."""
    parts = re.split(r"^#+ (.*)\n", (ROOT / "docs" / "api.md").read_text(), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


@pytest.mark.parametrize("name", dpdistinct.__all__)
def test_every_public_name_is_documented(name: str) -> None:
    thing = getattr(dpdistinct, name)
    section = sections_of_api()[name]
    assert inspect.getdoc(thing)
    words = set(re.findall(r"\w+", section))
    if inspect.isfunction(thing):
        assert set(inspect.signature(thing).parameters) <= words
    elif not issubclass(thing, Exception):
        public = {n for n in vars(thing) if not n.startswith("_")} | set(inspect.get_annotations(thing))
        assert public - {"of_loads", "of_ranks"} <= words
