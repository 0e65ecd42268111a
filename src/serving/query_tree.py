"""The syntax tree of a query from DuckDB's parser, and the tables and columns in it."""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from typing import Any

from lakehouse.errors import MillraceError
from lakehouse.rows.duckdb_sql import connect

Node = Mapping[str, Any]

_TABLE_FUNCTIONS = frozenset({"generate_series", "range", "unnest"})


def parse_select(sql: str, what: str, example: str) -> Node:
    """The syntax tree of one SELECT statement. DESCRIBE, SHOW and SUMMARIZE are accepted too.

    Args:
        sql: the statement.
        what: description of the query, for errors.
        example: next step of the error for other statements.

    Raises:
        MillraceError: if it is not one such statement.
    """
    asked = "SELECT json_serialize_sql(?::VARCHAR, skip_null := true, skip_empty := true)"
    tree: dict[str, Any] = json.loads(_parser().cursor().execute(asked, [sql]).fetchall()[0][0])
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


@cache
def _parser() -> Any:
    """A connection for texts only: to open one takes longer than most queries."""
    return connect(has_threads=False)


def nodes_of(tree: object) -> Iterator[Node]:
    """All objects in a syntax tree."""
    if isinstance(tree, dict):
        yield tree
    values = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ()
    for value in values:
        yield from nodes_of(value)


def tables_of(nodes: Collection[Node], known: Collection[str]) -> tuple[str, ...]:
    """Names of the tables that a query reads.

    Args:
        nodes: objects of its syntax tree.
        known: names of the tables that the reader may see.

    Raises:
        MillraceError: if the query reads anything else.
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
    """All text values in a syntax tree in lower case, including names of columns and aliases."""
    return frozenset(text.lower() for node in nodes for value in node.values() for text in _texts(value))


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        yield from (each for each in value if isinstance(each, str))


def unknown_table(name: str, known: Collection[str]) -> MillraceError:
    """The error for a table that does not exist, or that the reader may not see.

    Args:
        name: name in the request.
        known: names of the tables that the reader may see.
    """
    likely = get_close_matches(name, known, 1)
    meant = f"Is {likely[0]} meant? " if likely else ""
    return MillraceError(f"{name} is not a table", f'{meant}`millrace sql "SHOW TABLES"` lists the tables')
