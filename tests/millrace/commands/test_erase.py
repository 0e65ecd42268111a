"""`millrace erase` refuses what it can't do before Spark starts."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from kit.home import Home
from millrace.cli import app, register_commands


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "there is nobody to erase"),
        (["--expired", "--user", "ann"], "more than one of persons, --requests and --expired"),
        (["--requests", "forms", "--user", "ann"], "more than one of persons, --requests and --expired"),
        (["--expired"], "persons are kept without end"),
        (["--request", "2026-0001"], "there is no request 2026-0001"),
        (["--file", "no/such.csv"], "can't be read"),
    ],
)
def test_erase_is_refused(tmp_path: Path, given: list[str], message: str) -> None:
    if not app.registered_commands:
        register_commands()
    done = CliRunner().invoke(app, ["erase", *given], env=Home(tmp_path, "127.0.0.1:9", "events").env)
    assert message in str(done.exception)
    assert not (tmp_path / "warehouse").exists()


@pytest.mark.long
def test_catalog_that_the_session_lacks_is_named_in_one_line(tmp_path: Path) -> None:
    done = Home(tmp_path, "127.0.0.1:9", "events").run("erase", "--user", "ann", MILLRACE_CATALOG="main")
    assert done.returncode == 1
    assert "millrace: the Spark session has no catalog main" in done.stderr
