"""The recipes run, as far as they can here: Airflow and dbt are stood in for, PostgreSQL is a real server.

Pages whose Python and commands need nothing special are run by test_docs.py.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import duckdb
import pytest

import dpdistinct
from dpdistinct import asking
from dpdistinct.ledger import store as ledger_store
from postgresql_server import NoServerError, running_server

pytestmark = pytest.mark.long

RECIPES = Path(__file__).parents[2] / "docs" / "recipes"
DAY = "2024-01-31"


def block(page: str, language: str = "python") -> str:
    (found,) = re.findall(
        rf"^```{language}\n(.*?)^```$", (RECIPES / f"{page}.md").read_text(), re.MULTILINE | re.DOTALL
    )
    return str(found)


@pytest.fixture
def visits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A day of visits, and a budget that is enough for one answer."""
    path = tmp_path / f"{DAY}.parquet"
    duckdb.sql("SELECT i % 300 AS user_id, i % 1300 AS url FROM range(3000) t(i)").write_parquet(str(path))
    dpdistinct.Ledger(tmp_path / "budget.db").create("visits", "0.1")
    monkeypatch.chdir(tmp_path)
    return path


class FailedForGoodError(Exception):
    """What Airflow does not try again."""


def airflow(runs: list[Callable[[], None]], today: list[str]) -> dict[str, ModuleType]:
    """As much of Airflow as the recipe uses: tasks are functions, {{ ds }} is a day."""
    sdk, exceptions = ModuleType("airflow.sdk"), ModuleType("airflow.sdk.exceptions")

    def task(function: Any = None, **settings: Any) -> Any:
        if function is None:
            return task
        return lambda *given: function(*(today[-1] if value == "{{ ds }}" else value for value in given))

    def dag(**settings: Any) -> Any:
        return lambda function: lambda: runs.append(function)

    vars(sdk).update(task=task, dag=dag)
    vars(exceptions).update(AirflowFailException=FailedForGoodError)
    return {"airflow": ModuleType("airflow"), "airflow.sdk": sdk, "airflow.sdk.exceptions": exceptions}


def test_the_tasks_of_airflow_pay_once_and_do_not_retry_a_refusal(
    visits: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    runs: list[Callable[[], None]] = []
    today = [DAY]
    for name, module in airflow(runs, today).items():
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setenv("DPDISTINCT_LEDGER", str(visits.parent / "budget.db"))
    monkeypatch.setenv("VISITS", str(visits.parent))
    exec(compile(block("airflow"), "airflow.md", "exec"), {"__name__": "dag"})
    (run,) = runs
    with ExitStack() as stack, monkeypatch.context() as busy:

        def answer_in_use(*asked: Any, **how: Any) -> Any:
            stack.enter_context(ledger_store.session(str(visits.parent / "budget.db"), "BEGIN IMMEDIATE"))
            return real_answer(*asked, **how)

        real_answer = asking.read_curve
        busy.setattr(ledger_store, "BUSY_SECONDS", 0.05)
        busy.setattr(asking, "read_curve", answer_in_use)
        with pytest.raises(dpdistinct.UnavailableError):  # which Airflow tries again
            run()
    run()
    run()
    first, second = capsys.readouterr().out.splitlines()
    assert first == second
    assert re.fullmatch(r"at least [\d,]+ distinct pages", first)
    today.append("2024-02-01")
    visits.rename(visits.with_name("2024-02-01.parquet"))
    with pytest.raises(FailedForGoodError, match="over the budget"):
        run()


def test_the_model_of_dbt_pays_once(visits: Path) -> None:
    names: dict[str, Any] = {}
    exec(compile(block("dbt"), "dbt.md", "exec"), names)
    connection = duckdb.connect()
    settings = {"day": DAY, "ledger": "budget.db"}

    class Config:
        """dbt's: called with settings, asked for those of the YAML file."""

        def __call__(self, **given: Any) -> None:
            assert given == {"materialized": "incremental", "unique_key": "day"}

        get = staticmethod(settings.get)

    assert set(re.findall(r"^      (\w+): ", block("dbt", "yaml"), re.MULTILINE)) == set(settings)
    dbt = SimpleNamespace(config=Config(), ref=lambda name: connection.sql(f"FROM '{DAY}.parquet'"))
    first, second = (names["model"](dbt, connection) for _ in range(2))
    assert first.equals(second)
    assert list(first["day"]) == [DAY]
    (account,) = dpdistinct.Ledger("budget.db").show()
    assert account.left.epsilon == 0


def test_the_commands_in_the_container_run_in_folders_of_the_host(visits: Path, tmp_path: Path) -> None:
    """There is no Docker here. What stands behind the name of the image is run as it is."""
    (budgets := tmp_path / "budgets").mkdir()
    duckdb.read_parquet(str(visits)).write_csv(str(tmp_path / "visits.csv"))
    page = (RECIPES / "containers.md").read_text()
    commands = re.findall(r"^docker run --rm .* dpdistinct (.*)$", page, re.MULTILINE)
    assert len(commands) == 3
    for command in commands:
        words = command.replace("/budgets", str(budgets)).split()
        done = subprocess.run([sys.executable, "-m", "dpdistinct", *words], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


def test_the_recipe_of_postgresql_runs_on_a_server() -> None:
    """Its URL is replaced, and nothing else."""
    command = block("databases", "shell")
    program = "import dpdistinct\n" + block("databases", "py") + "print(release.lower_bound)"
    with ExitStack() as stack:
        try:
            url = stack.enter_context(running_server())
        except NoServerError as error:
            pytest.skip(str(error))
        from adbc_driver_postgresql import dbapi

        with dbapi.connect(url) as connection, connection.cursor() as cursor:
            cursor.execute(
                # So many that no noise drowns them: with a hundredth it would, once in 30,000 runs.
                "CREATE TABLE visits AS SELECT i % 30000 AS user_id, i % 130000 AS url, 'DE' AS country "
                "FROM generate_series(1, 300000) AS t(i)"
            )
            connection.commit()
        ours = "postgresql://analyst@localhost/shop"
        assert ours in command
        assert ours in program
        done = subprocess.run(
            command.replace("dpdistinct count", f"{sys.executable} -m dpdistinct count").replace(ours, url),
            shell=True,
            capture_output=True,
            text=True,
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert "\nor more distinct " in done.stdout
        done = subprocess.run(
            [sys.executable, "-c", program.replace(ours, url)], capture_output=True, text=True, check=True
        )
        assert int(done.stdout) > 0
