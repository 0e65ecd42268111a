"""The tree of a query, by DuckDB's own parser: the tables and columns that it names."""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from lakehouse.errors import MillraceError
from lakehouse.rows.duckdb_sql import connect

Node = Mapping[str, Any]

_TABLE_FUNCTIONS = frozenset({"generate_series", "range", "unnest"})


def parse_select(sql: str, what: str, example: str) -> Node:
    """The tree of a text that is one SELECT. DESCRIBE, SHOW and SUMMARIZE count as that.

    Args:
        sql: the text.
        what: what it is, for errors.
        example: what to do if it is no SELECT.

    Raises:
        MillraceError: if it is anything else.
    """
    asked = "SELECT json_serialize_sql(?::VARCHAR, skip_null := true, skip_empty := true)"
    tree: dict[str, Any] = json.loads(connect().execute(asked, [sql]).fetchall()[0][0])
    if tree["error"]:
        if tree.get("error_type") == "not implemented":
            raise MillraceError(f"{what} has to be a SELECT", example)
        raise MillraceError(
            f"not a query: {tree['error_message'].splitlines()[0]}", "Write it in DuckDB's SQL"
        )
    statements: list[Node] = tree.get("statements", [])
    if len(statements) != 1:
        raise MillraceError(f"{what} is one statement, not {len(statements)}", "Give each by itself")
    return statements[0]


def nodes_of(tree: object) -> Iterator[Node]:
    """All objects of a tree."""
    if isinstance(tree, dict):
        yield tree
    values = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ()
    for value in values:
        yield from nodes_of(value)


def tables_of(nodes: Collection[Node], known: Collection[str]) -> tuple[str, ...]:
    """Tables of the lake that are read.

    Args:
        nodes: of the query.
        known: names of the tables that there are for who asks.

    Raises:
        MillraceError: if anything else is.
    """
    named = {
        str(each["key"]).lower() for node in nodes for each in (node.get("cte_map") or {}).get("map", ())
    }
    found = set()
    for node in nodes:
        kind = node.get("type")
        if (
            kind == "TABLE_FUNCTION"
            and (function := node["function"]["function_name"].lower()) not in _TABLE_FUNCTIONS
        ):
            raise MillraceError(f"{function}() reads something outside the tables", "Read tables only")
        if kind == "BASE_TABLE":
            name = ".".join(
                str(node[part]) for part in ("catalog_name", "schema_name", "table_name") if node.get(part)
            )
            if name.lower() in known and not node.get("at_clause"):
                found.add(name.lower())
            elif name.lower() not in named:
                raise unknown_table(name, known)
    return tuple(sorted(found))


def names_in(nodes: Iterable[Node]) -> frozenset[str]:
    """All texts of a tree in lower case, among them the names of columns and aliases."""
    return frozenset(text.lower() for node in nodes for value in node.values() for text in _texts(value))


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        yield from (each for each in value if isinstance(each, str))


def unknown_table(name: str, known: Collection[str]) -> MillraceError:
    """The error for a name that is no table's, for who asks.

    Args:
        name: as it was given.
        known: names of the tables that there are for who asks.
    """
    likely = get_close_matches(name, known, 1)
    meant = f"Is {likely[0]} meant? " if likely else ""
    return MillraceError(f"{name} is not a table", f'{meant}`millrace sql "SHOW TABLES"` lists the tables')
