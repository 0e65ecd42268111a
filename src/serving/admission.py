"""Admits standing queries: those with the same result whenever they run on the same table versions.

DuckDB's parser provides the syntax tree of a query, and its catalog the functions that do not depend only on
their arguments.
"""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cache

from lakehouse.access.role import Role
from lakehouse.contracts import TABLES
from lakehouse.errors import MillraceError
from lakehouse.rows.duckdb_sql import connect
from serving.query_tree import Node, nodes_of, parse_select, tables_of

_NEXT_STEP = "Take that out of the query, or ask once with `millrace sql`"
_CLOCK = frozenset({"current_date", "current_time", "current_timestamp", "localtime", "localtimestamp"})
_BY_ORDER = frozenset(
    {
        "any_value",
        "arbitrary",
        "array_agg",
        "first",
        "first_value",
        "group_concat",
        "json_group_array",
        "last",
        "lag",
        "last_value",
        "lead",
        "list",
        "listagg",
        "nth_value",
        "ntile",
        "row_number",
        "string_agg",
    }
)
_BY_CHANCE = frozenset({"approx_quantile", "approx_top_k", "reservoir_quantile"})
_VOLATILE = "SELECT DISTINCT function_name FROM duckdb_functions() WHERE stability <> 'CONSISTENT'"


@dataclass(frozen=True)
class StandingText:
    """An admitted standing query.

    Args:
        sql: its text.
        tables: names of the tables that it reads, sorted.
        key: indexes of the result columns that GROUP BY makes a key; None if they are not known.
    """

    sql: str
    tables: tuple[str, ...]
    key: tuple[int, ...] | None


def admit(sql: str, role: Role | None = None) -> StandingText:
    """Check a query in DuckDB's SQL.

    Args:
        sql: its text.
        role: role of the reader, which hides other tables; None: a reader who sees everything.

    Raises:
        MillraceError: if it is not one SELECT over tables of the lake, or if its result may differ when
            repeated; the message has the reason.
    """
    statement = parse_select(sql, "a standing query", 'As an example: millrace watch "SELECT …"')
    nodes = list(nodes_of(statement))
    for node in nodes:
        if reason := _objection(node, _volatile()):
            raise MillraceError(f"the query can't be repeated exactly: {reason}", _NEXT_STEP)
    if any(node.get("type") == "SHOW_REF" for node in nodes):
        raise MillraceError("a standing query has to be a SELECT", "`millrace sql` describes tables")
    tables = tables_of(nodes, TABLES if role is None else role.tables)
    if not tables:
        raise MillraceError("the query reads no table, so it never changes", "Name one, as gold.attribution")
    return StandingText(sql.strip().rstrip(";"), tables, _group_key(statement["node"]))


@cache
def _volatile() -> frozenset[str]:
    """Functions of DuckDB that do not depend only on their arguments."""
    return frozenset(name for (name,) in connect().execute(_VOLATILE).fetchall())


def _objection(node: Node, volatile: Collection[str]) -> str | None:
    """Why the result of a node may differ when repeated; None if it does not."""
    kind = str(node.get("type", ""))
    if node.get("class") in ("FUNCTION", "WINDOW"):
        return _function_objection(node, volatile)
    if kind == "COLUMN_REF" and len(node["column_names"]) == 1 and node["column_names"][0].lower() in _CLOCK:
        return f"{node['column_names'][0].lower()} depends on the clock"
    if node.get("sample"):
        return "a sample is drawn by chance"
    if node.get("ref_type") == "POSITIONAL":
        return "a positional join depends on the order of files"
    kinds = {str(each.get("type")) for each in node.get("modifiers", ())}
    if any(each.startswith("LIMIT") for each in kinds) and "ORDER_MODIFIER" not in kinds:
        return "LIMIT without ORDER BY takes any rows"
    if (
        any(each.get("distinct_on_targets") for each in node.get("modifiers", ()))
        and "ORDER_MODIFIER" not in kinds
    ):
        return "DISTINCT ON without ORDER BY takes any rows"
    return None


def _function_objection(node: Node, volatile: Collection[str]) -> str | None:
    name = str(node["function_name"]).lower()
    arguments = node.get("arguments", node.get("children", ()))  # DuckDB up to 1.5 has `children`
    if name in volatile or (name == "age" and len(arguments) == 1):
        return f"{name}() depends on the clock, on chance or on the connection"
    if name in _BY_CHANCE:
        return f"{name}() depends on the order of rows"
    ordered = node.get("orders") or (node.get("order_bys") or {}).get("orders")
    is_aggregate = node["class"] == "WINDOW" or "is_operator" in node
    if name in _BY_ORDER and is_aggregate and not ordered:
        return f"{name}() without ORDER BY depends on the order of rows"
    return None


def _group_key(node: Node) -> tuple[int, ...] | None:
    """Indexes in the select list of the GROUP BY expressions; None if one is not in it."""
    items, groups = node.get("select_list", []), node.get("group_expressions", [])
    if not groups or len(node.get("group_sets", [0])) > 1 or any(item["class"] == "STAR" for item in items):
        return None
    if any(str(each.get("function_name", "")).lower() == "unnest" for each in nodes_of(items)):
        return None  # a group has several rows
    places = [_place(group, items) for group in groups]
    known = [place for place in places if place is not None]
    return tuple(known) if len(known) == len(places) else None


def _place(group: Node, items: list[Node]) -> int | None:
    number = (group.get("literal") or {}).get("text") or (group.get("value") or {}).get("value")
    if group["class"] == "CONSTANT" and str(number).isdecimal():
        return int(str(number)) - 1
    alias = group["column_names"][0] if len(group.get("column_names", ())) == 1 else None
    for place, item in enumerate(items):
        if _plain(item) == _plain(group) or (alias and item.get("alias") == alias):
            return place
    return None


def _plain(tree: object) -> object:
    """An expression without its alias and its location in the text."""
    if isinstance(tree, dict):
        left_out = ("alias", "query_location", "query_location_length")
        return {name: _plain(value) for name, value in tree.items() if name not in left_out}
    return [_plain(each) for each in tree] if isinstance(tree, list) else tree
