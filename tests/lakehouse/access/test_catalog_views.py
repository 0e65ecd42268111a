"""Views of a catalog for roles: their SQL, and what they show when Spark runs it."""

from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest
import sqlglot
from sqlglot import exp

from kit.access import hash_of, policy
from kit.access_matrix import CONVERSION, CREDITS, fill
from kit.catalog_server import CATALOG, CatalogServer
from lakehouse.access.catalog_views import (
    ROLE_PROPERTY,
    SCHEMA_START,
    removal_statements,
    schema_of,
    stale_schemas,
    view_statements,
)
from lakehouse.access.policy import Policy
from lakehouse.contracts import TABLES
from lakehouse.readers.folder_tables import FolderTables

ODD = """
roles:
  odd:
    tables: ["gold.*"]
    mask: {visitor_id: "null"}
    rows:
      gold.attribution: {channel: [Email, "it's \\\\ a 'quote'", null], credit: {gt: 0.1, lte: 0.9}}
      gold.conversions:
        {converted_at: {gte: 2026-03-01T10:00:00+02:00}, value: {lt: "12.5"}, is_final: [true]}
      gold.funnel: {day: {not: [2026-03-01, null]}, visitors: {gte: 2}}
"""


def statements(found: Policy, existing: set[str]) -> list[str]:
    return list(view_statements(found.roles, "main", existing))


def test_statements_are_sql_of_the_catalog_and_make_each_view_once(tmp_path: Path) -> None:
    found = [sqlglot.parse_one(each, read="databricks") for each in statements(policy(tmp_path), set(TABLES))]
    made = [str(each.this) for each in found if isinstance(each, exp.Create) and each.kind == "VIEW"]
    assert len(made) == len(set(made))
    assert sum("role_analyst" in name for name in made) == sum(n[:2] in ("si", "go") for n in TABLES)
    assert sum("role_marketing" in name for name in made) == 4
    granted = [each for each in statements(policy(tmp_path), set(TABLES)) if each.startswith("GRANT")]
    assert granted == [
        f"GRANT USE SCHEMA, SELECT ON SCHEMA `main`.`role_{name}` TO `{name}`"
        for name in ("analyst", "marketing")
    ]


def test_view_reads_only_columns_that_the_role_sees(tmp_path: Path) -> None:
    texts = statements(policy(tmp_path), {"gold.conversions"})
    (text,) = [each for each in texts if "CREATE OR REPLACE VIEW `main`.`role_marketing`.`gold_conv" in each]
    select = sqlglot.parse_one(text, read="databricks").expression
    read = {column.name for column in select.find_all(exp.Column)}
    assert not read & {"value", "value_sent", "reporting_value"}
    assert read <= set(TABLES["gold.conversions"].column_names)


def test_tables_that_a_role_may_not_see_any_more_lose_their_view(tmp_path: Path) -> None:
    texts = statements(policy(tmp_path), set(TABLES))
    assert "DROP VIEW IF EXISTS `main`.`role_marketing`.`gold_touches`" in texts
    assert not any("role_admin" in text for text in texts)


def test_schema_of_a_role_that_has_no_views_any_more_is_stale(tmp_path: Path) -> None:
    schemas = {f"role_{name.lower()}": name for name in ("analyst", "Marketing", "support", "admin")}
    assert stale_schemas(policy(tmp_path).roles, schemas) == {
        "role_support": "support",
        "role_admin": "admin",
    }


def test_schema_is_dropped_if_it_has_views_of_the_role_alone() -> None:
    views = ["DROP VIEW IF EXISTS `main`.`role_a`.`gold_touches`"]
    found = removal_statements("main", "role_a", "a", {"gold_touches"})
    assert list(found) == [*views, "DROP SCHEMA `main`.`role_a` RESTRICT"]
    found = removal_statements("main", "role_a", "a", {"gold_touches", "tickets"})
    assert list(found) == [
        *views,
        "REVOKE USE SCHEMA, SELECT ON SCHEMA `main`.`role_a` FROM `a`",
        "ALTER SCHEMA `main`.`role_a` SET DBPROPERTIES ('millrace.role' = '')",
    ]


@pytest.mark.long
def test_schema_of_a_role_is_known_by_its_property_and_dropped(
    catalog: CatalogServer, tmp_path: Path
) -> None:
    fill(tmp_path)
    catalog.register(tmp_path)
    catalog.run("CREATE DATABASE IF NOT EXISTS role_ceo")
    roles = policy(tmp_path / "policy", "roles: {data_team: {tables: [gold.attribution]}}").roles
    for statement in view_statements(roles, CATALOG, {"gold.attribution"}):
        if not statement.startswith("GRANT"):
            catalog.run(statement)
    sql, schema = catalog.tables().sql, "role_data_team"
    found = sql.schemas_with(SCHEMA_START, ROLE_PROPERTY)
    assert found[schema] == "data_team"
    assert "role_ceo" not in found
    *_, unmark = removal_statements(CATALOG, schema, "data_team", {"tickets"})
    catalog.run(unmark)
    assert schema not in sql.schemas_with(SCHEMA_START, ROLE_PROPERTY)
    for statement in removal_statements(CATALOG, schema, "data_team", sql.names_in(schema)):
        catalog.run(statement)
    assert schema not in catalog.query("SHOW DATABASES")["namespace"].to_pylist()


@pytest.mark.long
@pytest.mark.parametrize("text", [None, ODD])
def test_views_show_what_the_role_sees_in_a_folder(
    catalog: CatalogServer, tmp_path: Path, text: str | None
) -> None:
    fill(tmp_path)
    catalog.register(tmp_path)
    catalog.run("CREATE DATABASE IF NOT EXISTS ops")
    found = policy(tmp_path / "policy", text) if text else policy(tmp_path / "policy")
    tables = FolderTables(tmp_path / "warehouse")
    existing = {name for name in TABLES if tables.latest_version(name) >= 0}
    for statement in view_statements(found.roles, CATALOG, existing):
        if not statement.startswith("GRANT"):  # Spark itself has no rights
            catalog.run(statement)
    for role in (each for each in found.roles.values() if not each.is_unrestricted):
        for name in existing & set(role.tables):
            view = role.view(TABLES[name])
            assert view is not None
            expected = view.apply(pa.concat_tables(tables.rows(TABLES[name], tables.latest_version(name))))
            shown = catalog.query(f"SELECT * FROM {schema_of(role)}.{name.replace('.', '_')}")
            assert shown.column_names == expected.column_names
            assert Counter(map(repr, shown.to_pylist())) == Counter(map(repr, expected.to_pylist()))
    if text is None:
        (row,) = catalog.query("SELECT person_id FROM role_marketing.gold_conversions").to_pylist()
        assert row["person_id"] == hash_of(tmp_path / "policy", CONVERSION["person_id"])
        assert len(CREDITS) > catalog.query("SELECT * FROM role_marketing.gold_attribution").num_rows > 0
