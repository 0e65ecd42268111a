"""`millrace status`."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from lakehouse.errors import MillraceError
from millrace.cli import app, register_commands


def test_status_of_a_catalog_ends_with_one_line_that_names_what_to_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("MILLRACE_CATALOG", "main"), ("MILLRACE_HOME", str(tmp_path))):
        monkeypatch.setenv(name, value)
    for warehouse in ("DATABRICKS_WAREHOUSE_ID", "SPARK_REMOTE"):
        monkeypatch.delenv(warehouse, raising=False)
    if not app.registered_commands:
        register_commands()
    answer = CliRunner().invoke(app, ("status",))
    assert isinstance(answer.exception, MillraceError)
    assert "the tables are in the catalog main" in answer.exception.problem
    assert "page Pipeline" in answer.exception.next_step
    assert "\n" not in str(answer.exception)
