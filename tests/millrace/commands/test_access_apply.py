"""`millrace access apply` makes the views of roles in a catalog."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from typer.testing import CliRunner, Result

from kit.access import ROLES, visible, write_policy
from kit.access_matrix import CONDITIONS, CREDITS, fill
from kit.catalog_server import CatalogServer
from lakehouse.errors import MillraceError
from lakehouse.readers import sql_warehouse
from lakehouse.readers.catalog_tables import CatalogTables
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


SUPPORT = """
roles:
  support: {tables: [gold.touches, gold.traffic]}
"""


class GrantingCatalog:
    """A catalog `main` with schemas, their properties, views and grants, as statements make them."""

    def __init__(self) -> None:
        self.properties: dict[str, dict[str, str]] = {"gold": {}}
        self.relations = {("gold", "touches"), ("gold", "traffic")}
        self.grants: set[tuple[str, str]] = set()

    def __call__(self, text: str, _values: dict[str, Any]) -> pa.Table:
        _, schema, *more = re.findall("`([^`]*)`", text) + [""] * 2
        rows = self.read(text, schema.lower())
        if not rows:
            self.change(text, schema.lower(), more[0])
        first, second = ([row[place] for row in rows] for place in (0, 1))
        return pa.table({"databaseName": first, "tableName": second})

    def parts(self, text: str, values: dict[str, Any]) -> Iterator[pa.Table]:
        yield self(text, values)

    def read(self, text: str, schema: str) -> list[tuple[str, str]]:
        match text.split()[:2]:
            case ["SHOW", "SCHEMAS"]:
                return [(each, "") for each in self.properties]
            case ["DESCRIBE", "SCHEMA"]:
                found = ", ".join(f"({name},{value})" for name, value in self.properties[schema].items())
                return [("Namespace Name", schema), ("Properties", f"({found})" if found else "")]
            case ["SHOW", "TABLES"]:
                return [each for each in self.relations if each[0] == schema]
        return []

    def change(self, text: str, schema: str, name: str) -> None:
        match text.split()[:2]:
            case ["CREATE", "SCHEMA"]:
                self.properties.setdefault(schema, {})
            case ["ALTER", "SCHEMA"]:
                self.properties[schema].update([re.findall("'([^']*)'", text)])
            case ["CREATE", "OR"]:
                self.relations.add((schema, name))
            case ["DROP", "VIEW"]:
                self.relations.discard((schema, name))
            case ["DROP", "SCHEMA"]:
                assert not [each for each in self.relations if each[0] == schema]
                del self.properties[schema]
                self.grants = {each for each in self.grants if each[0] != schema}
            case ["GRANT", _]:
                self.grants.add((schema, name))
            case ["REVOKE", _]:
                self.grants.discard((schema, name))


@pytest.fixture
def granting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GrantingCatalog:
    """A catalog whose role `support` has its views."""
    catalog = GrantingCatalog()
    monkeypatch.setattr(sql_warehouse, "catalog_tables", lambda name: CatalogTables(catalog, name))
    monkeypatch.chdir(tmp_path)
    for name, value in (("MILLRACE_CATALOG", "main"), ("MILLRACE_HOME", str(tmp_path))):
        monkeypatch.setenv(name, value)
    write_policy(tmp_path, SUPPORT)
    assert apply().exit_code == 0
    assert catalog.grants == {("role_support", "support")}
    return catalog


@pytest.mark.parametrize("text", ["roles: {}", "roles: {support: {tables: ['*']}}"])
def test_views_and_grant_of_a_role_that_is_gone_or_sees_everything_are_removed(
    granting: GrantingCatalog, tmp_path: Path, text: str
) -> None:
    write_policy(tmp_path, text)
    done = apply()
    assert "role_support" in done.stdout
    assert granting.grants == set()
    assert set(granting.properties) == {"gold"}
    assert granting.relations == {("gold", "touches"), ("gold", "traffic")}


def test_other_tables_in_the_schema_of_a_role_that_is_gone_stay(
    granting: GrantingCatalog, tmp_path: Path
) -> None:
    granting.relations.add(("role_support", "tickets"))
    write_policy(tmp_path, "roles: {}")
    assert apply().exit_code == 0
    assert granting.grants == set()
    assert {name for schema, name in granting.relations if schema == "role_support"} == {"tickets"}
    granting.relations.add(("role_support", "gold_touches"))
    apply()
    assert ("role_support", "gold_touches") in granting.relations, "it is not of a role any more"


def test_schema_that_is_not_of_a_role_stays_whatever_its_name(
    granting: GrantingCatalog, tmp_path: Path
) -> None:
    granting.properties["role_ceo"] = {"made_by": "hand"}
    granting.relations.add(("role_ceo", "gold_touches"))
    granting.grants.add(("role_ceo", "ceo"))
    write_policy(tmp_path, "roles: {}")
    assert apply().exit_code == 0
    assert granting.properties["role_ceo"] == {"made_by": "hand"}
    assert ("role_ceo", "gold_touches") in granting.relations
    assert granting.grants == {("role_ceo", "ceo")}


def test_dry_run_prints_what_is_removed(granting: GrantingCatalog, tmp_path: Path) -> None:
    write_policy(tmp_path, "roles: {}")
    printed = apply("--dry-run").stdout
    assert "DROP VIEW IF EXISTS `main`.`role_support`.`gold_touches`;" in printed
    assert "DROP SCHEMA `main`.`role_support` RESTRICT;" in printed
    assert granting.grants == {("role_support", "support")}


def test_schema_of_a_role_whose_name_the_catalog_writes_in_lower_case_stays(
    granting: GrantingCatalog, tmp_path: Path
) -> None:
    write_policy(tmp_path, "roles: {Support: {tables: [gold.touches]}}")
    assert "Removed" not in apply().stdout
    assert "Removed" not in apply().stdout
    assert ("role_support", "gold_touches") in granting.relations


def test_missing_file_removes_no_views(granting: GrantingCatalog, tmp_path: Path) -> None:
    (tmp_path / "conf" / "access.yml").unlink()
    error = apply().exception
    assert isinstance(error, MillraceError)
    assert f"there is no {tmp_path / 'conf' / 'access.yml'}" in str(error)
    assert granting.grants == {("role_support", "support")}
