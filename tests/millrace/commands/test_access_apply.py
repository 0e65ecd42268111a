"""`millrace access apply` makes the views of roles in a catalog."""

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from kit.access import ROLES, visible, write_policy
from kit.access_matrix import CONDITIONS, CREDITS, fill
from kit.catalog_server import CatalogServer
from lakehouse.errors import MillraceError
from millrace.cli import app, register_commands


def apply(*arguments: str) -> Result:
    if not app.registered_commands:
        register_commands()
    return CliRunner().invoke(app, ("access", "apply", *arguments))


def test_folder_has_no_rights_to_apply(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MILLRACE_HOME", str(tmp_path))
    monkeypatch.delenv("MILLRACE_CATALOG", raising=False)
    error = apply().exception
    assert isinstance(error, MillraceError)
    assert "the tables are in folders" in str(error)


@pytest.fixture
def home(catalog: CatalogServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_policy(tmp_path, ROLES)
    fill(tmp_path)
    catalog.register(tmp_path)
    catalog.run("CREATE DATABASE IF NOT EXISTS ops")
    monkeypatch.chdir(tmp_path)
    for name, value in {**catalog.env, "MILLRACE_HOME": str(tmp_path)}.items():
        monkeypatch.setenv(name, value)
    return tmp_path


@pytest.mark.long
@pytest.mark.usefixtures("home")
def test_dry_run_prints_the_statements_without_the_key(catalog: CatalogServer) -> None:
    printed = apply("--dry-run").stdout
    assert "CREATE OR REPLACE VIEW `spark_catalog`.`role_marketing`.`gold_attribution`" in printed
    assert "GRANT USE SCHEMA, SELECT ON SCHEMA `spark_catalog`.`role_marketing` TO `marketing`;" in printed
    assert "concat(<key>, CAST(value AS BINARY))" in printed
    assert "X'" not in printed
    assert "role_marketing" not in catalog.query("SHOW DATABASES")["namespace"].to_pylist()


@pytest.mark.long
@pytest.mark.usefixtures("home")
def test_statement_that_the_catalog_refuses_is_named(catalog: CatalogServer) -> None:
    """Spark has no rights: it refuses the first GRANT, after the views that it is for."""
    error = apply().exception
    assert isinstance(error, MillraceError)
    assert "`GRANT USE SCHEMA, SELECT ON SCHEMA …` fails" in str(error)
    shown = catalog.query("SELECT model FROM role_analyst.gold_attribution")["model"].to_pylist()
    expected = [credit["model"] for credit in CREDITS if visible(credit, CONDITIONS["analyst"])]
    assert sorted(shown) == sorted(expected)
    assert "order_id" not in catalog.query("SELECT * FROM role_analyst.gold_conversions").column_names
