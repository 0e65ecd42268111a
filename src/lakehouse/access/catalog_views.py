"""Views of a catalog for roles: each role has a schema with the rows and columns that it sees.

Decision: docs/decisions/0059.
"""

from collections.abc import Collection, Iterator, Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from lakehouse.access.mask_key import MaskKey
from lakehouse.access.masks import HASH_DIGITS, Mask
from lakehouse.access.role import Role
from lakehouse.access.row_filters import ColumnFilter
from lakehouse.access.table_view import TableView
from lakehouse.contracts import TABLES
from lakehouse.contracts.table import Table
from lakehouse.rows.duckdb_sql import spark_text_literal

_BLOCK = 64
_COMPARED = {"gte": ">=", "gt": ">", "lte": "<=", "lt": "<"}
_HASH = "millrace_hash"

SCHEMA_START = "role_"
"""What the names of schemas of roles start with."""

ROLE_PROPERTY = "millrace.role"
"""The property of a schema that has views of a role: the role's name. Other schemas are never changed."""


def schema_of(role: Role) -> str:
    """The schema of a role's views."""
    return f"{SCHEMA_START}{role.name}"


def view_statements(roles: Mapping[str, Role], catalog: str, existing: Collection[str]) -> Iterator[str]:
    """SQL that makes the views of all roles that do not see everything, and grants them.

    A view `layer_table` has the rows and columns of `layer.table` that the role sees. Its readers are the
    group of the role's name; they need no right on the table itself.

    Args:
        roles: roles by name.
        catalog: catalog of the tables.
        existing: names of the tables that there are; others get no view yet.
    """
    restricted = [role for role in roles.values() if not role.is_unrestricted]
    if any(Mask.HASH in masks.values() for role in restricted for masks in role.masks.values()):
        key = next(role.key for role in restricted)
        signature = f"{_function(catalog)}(value STRING) RETURNS STRING"
        yield f"CREATE OR REPLACE FUNCTION {signature} RETURN {_hmac(key)}"
    for role in restricted:
        schema = f"`{catalog}`.`{schema_of(role)}`"
        yield f"CREATE SCHEMA IF NOT EXISTS {schema}"
        yield _with_property(schema, role.name)
        for table in TABLES.values():
            name = f"{schema}.`{_view_name(table)}`"
            view = role.view(table) if table.name in existing else None
            if view is None:
                yield f"DROP VIEW IF EXISTS {name}"
            else:
                yield f"CREATE OR REPLACE VIEW {name} AS {_select(view, catalog)}"
        yield f"GRANT USE SCHEMA, SELECT ON SCHEMA {schema} TO `{role.name}`"


def stale_schemas(roles: Mapping[str, Role], schemas: Mapping[str, str]) -> dict[str, str]:
    """The schemas whose role is not declared any more, or sees everything by now.

    Args:
        roles: roles by name.
        schemas: by name of a schema, its `ROLE_PROPERTY`.
    """
    kept = {schema_of(role).lower() for role in roles.values() if not role.is_unrestricted}
    return {schema: role for schema, role in schemas.items() if schema.lower() not in kept}


def removal_statements(catalog: str, schema: str, role: str, existing: Collection[str]) -> Iterator[str]:
    """SQL that removes a role's views, and their schema. If it has other tables, it loses grant and property.

    Args:
        catalog: catalog of the schema.
        schema: the schema.
        role: name of the role.
        existing: names of the tables and views in the schema.
    """
    quoted, views = f"`{catalog}`.`{schema}`", {_view_name(table) for table in TABLES.values()}
    for name in sorted(views.intersection(existing)):
        yield f"DROP VIEW IF EXISTS {quoted}.`{name}`"
    if views.issuperset(existing):
        yield f"DROP SCHEMA {quoted} RESTRICT"
    else:
        yield f"REVOKE USE SCHEMA, SELECT ON SCHEMA {quoted} FROM `{role}`"
        yield _with_property(quoted, "")


def _with_property(schema: str, value: str) -> str:
    return f"ALTER SCHEMA {schema} SET DBPROPERTIES ('{ROLE_PROPERTY}' = {spark_text_literal(value)})"


def _view_name(table: Table) -> str:
    return table.name.replace(".", "_")


def _select(view: TableView, catalog: str) -> str:
    """The rows and columns of a table that a role sees. Conditions apply to unmasked values."""
    shown = ", ".join(_shown(view, column.name, column.type, catalog) for column in view.columns)
    where = " AND ".join(_condition(each) for each in view.filters)
    return f"SELECT {shown} FROM `{catalog}`.{view.table.name}{f' WHERE {where}' if where else ''}"


def _shown(view: TableView, name: str, kind: str, catalog: str) -> str:
    mask = view.masks.get(name)
    if mask is None:
        return f"`{name}`"
    value = f"{_function(catalog)}(`{name}`)" if mask is Mask.HASH else f"CAST(NULL AS {kind})"
    return f"{value} AS `{name}`"


def _condition(given: ColumnFilter) -> str:
    """A condition of which null counts as false, but in a list that has null."""
    column, parts = f"`{given.column}`", []
    if given.values is not None:
        parts.append(_is_in(column, given.values))
    if given.excluded is not None:
        parts.append(f"({column} IS NOT NULL AND NOT {_is_in(column, given.excluded)})")
    parts += [f"{column} {_COMPARED[name]} {_literal(value)}" for name, value in given.comparisons]
    return " AND ".join(parts)


def _is_in(column: str, values: Collection[Any]) -> str:
    listed = ", ".join(_literal(value) for value in values if value is not None)
    found = [f"coalesce({column} IN ({listed}), false)"] * bool(listed)
    found += [f"{column} IS NULL"] * (None in values)
    return f"({' OR '.join(found)})"


def _literal(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"CAST('{value!r}' AS DOUBLE)"
    if isinstance(value, (int, Decimal)):
        return f"{value}"
    if isinstance(value, datetime):
        return f"TIMESTAMP '{value.isoformat(' ')}'"
    if isinstance(value, date):
        return f"DATE '{value.isoformat()}'"
    return spark_text_literal(str(value))


def _function(catalog: str) -> str:
    return f"`{catalog}`.ops.{_HASH}"


def _hmac(key: MaskKey) -> str:
    """HMAC-SHA-256 of a text in SQL: the hash of one padded key and the hash of the other and the text."""
    padded = key.secret.ljust(_BLOCK, b"\0")
    inner, outer = (bytes(byte ^ pad for byte in padded).hex() for pad in (0x36, 0x5C))
    inside = f"unhex(sha2(concat(X'{inner}', CAST(value AS BINARY)), 256))"
    return f"left(sha2(concat(X'{outer}', {inside}), 256), {HASH_DIGITS})"
