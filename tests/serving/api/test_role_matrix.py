"""Each protocol of the streaming API returns only the tables, columns and rows that a role may read."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from httpx_sse import EventSource
from websockets.sync.client import connect

from kit.access import hash_of, token_of, visible, with_tokens
from kit.access_matrix import (
    CONDITIONS,
    CONVERSION,
    CREDITS,
    HIDDEN,
    ROLE_NAMES,
    SECRETS,
    TABLE_OF_ROLE,
    fill,
)
from kit.api_process import ApiProcess, api_process
from kit.catalog_server import CatalogServer
from kit.warehouse_builder import replace_rows
from lakehouse.contracts import TABLES

Asked = dict[str, Any]
Place = tuple[Path, dict[str, str]]
Messages = list[dict[str, Any]]
HTTP = httpx.Client(verify=False, timeout=60)
"""Certificates are not loaded, as this takes longer than a request."""
Ask = Callable[[ApiProcess, str, Asked], Messages]


class RefusedError(Exception):
    """The server's reason."""


@pytest.fixture(scope="module", params=["folder", pytest.param("catalog", marks=pytest.mark.long)])
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Place:
    """Tables in a home, or in a catalog that reads the same files."""
    home = tmp_path_factory.mktemp("home")
    with_tokens(home, **{name: name for name in ROLE_NAMES})
    fill(home)
    if request.param == "folder":
        return home, {}
    server: CatalogServer = request.getfixturevalue("catalog")
    server.register(home)
    return home, server.env


@pytest.fixture(scope="module")
def home(place: Place) -> Path:
    return place[0]


@pytest.fixture(scope="module")
def server(place: Place) -> Iterator[ApiProcess]:
    home, env = place
    with api_process(home, place=home, **env) as server:
        yield server


def headers(role: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token_of(role)}"}


def url_params(asked: Asked) -> dict[str, str]:
    return {name: value if isinstance(value, str) else json.dumps(value) for name, value in asked.items()}


def up_to_position(found: Iterator[dict[str, Any]]) -> Messages:
    """Messages up to one that has a position. `closed` is a refusal."""
    messages = []
    for message in found:
        messages.append(message)
        if message["type"] == "closed":
            raise RefusedError(message["reason"])
        if "position" in message:
            break
    return messages


def raise_if_refused(answer: httpx.Response) -> httpx.Response:
    if answer.status_code != 200:
        answer.read()
        assert answer.status_code == 400
        raise RefusedError(answer.json()["error"])
    return answer


def by_events(server: ApiProcess, role: str, asked: Asked) -> Messages:
    url = f"{server.url}/v1/changes"
    with HTTP.stream("GET", url, params=url_params(asked), headers=headers(role), timeout=30) as answer:
        events = EventSource(raise_if_refused(answer)).iter_sse()
        return up_to_position(json.loads(event.data) for event in events)


def by_socket(server: ApiProcess, role: str, asked: Asked) -> Messages:
    url = f"{server.url.replace('http', 'ws')}/v1/socket"
    with connect(url, additional_headers=headers(role)) as socket:
        socket.send(json.dumps(asked))
        return up_to_position(json.loads(text) for text in socket)


def by_poll(server: ApiProcess, role: str, asked: Asked) -> Messages:
    answer = HTTP.get(f"{server.url}/v1/poll", params=url_params(asked), headers=headers(role), timeout=60)
    return up_to_position(iter(raise_if_refused(answer).json()["messages"]))


def by_rows(server: ApiProcess, role: str, asked: Asked) -> Messages:
    answer = raise_if_refused(
        HTTP.get(f"{server.url}/v1/rows", params=url_params(asked), headers=headers(role))
    )
    rows = [json.loads(line) for line in answer.text.splitlines()]
    return [{"type": "rows", "rows": rows, "position": answer.headers["millrace-position"]}]


PROTOCOLS = (by_events, by_socket, by_poll, by_rows)
FEEDS = (by_events, by_socket, by_poll)
of_table: Callable[[str], Asked] = lambda table: {"table": table}  # noqa: E731
of_query: Callable[[str], Asked] = lambda table: {"sql": f"SELECT * FROM {table}"}  # noqa: E731


def rows_of(messages: Messages) -> list[dict[str, Any]]:
    return [row for message in messages for row in message.get("rows", ())]


@pytest.mark.parametrize("ask", PROTOCOLS)
@pytest.mark.parametrize("asked", [of_table, of_query], ids=["table", "sql"])
@pytest.mark.parametrize("role", ROLE_NAMES)
class TestMatrix:
    """Three roles by four protocols, for a table and for a query."""

    @pytest.mark.parametrize(
        "table", ["silver.sessions", "gold.conversions", "gold.attribution", "bronze.kafka_records"]
    )
    def test_table_is_readable_only_by_roles_that_include_it(
        self, server: ApiProcess, ask: Ask, asked: Callable[[str], Asked], role: str, table: str
    ) -> None:
        if table in TABLE_OF_ROLE[role]:
            assert rows_of(ask(server, role, asked(table)))
        else:
            with pytest.raises(RefusedError, match=f"{table} is not a table"):
                ask(server, role, asked(table))

    def test_rows_are_limited_by_row_filter_of_role(
        self, server: ApiProcess, ask: Ask, asked: Callable[[str], Asked], role: str
    ) -> None:
        expected = [credit["model"] for credit in CREDITS if visible(credit, CONDITIONS[role])]
        found = rows_of(ask(server, role, asked("gold.attribution")))
        assert sorted(row["model"] for row in found) == sorted(expected)

    def test_columns_are_masked_or_hidden_by_role(
        self, server: ApiProcess, home: Path, ask: Ask, asked: Callable[[str], Asked], role: str
    ) -> None:
        (row,) = rows_of(ask(server, role, asked("gold.conversions")))
        (session,) = rows_of(ask(server, role, asked("silver.sessions")))
        columns = {name for name in TABLES["gold.conversions"].column_names if name not in HIDDEN[role]}
        assert set(row) == columns
        ids = [str(CONVERSION[name]) for name in ("person_id", "visitor_id")]
        expected = ids if role == "admin" else [hash_of(home, each) for each in ids]
        assert [row["person_id"], row["visitor_id"]] == expected
        assert session["visitor_id"] == row["visitor_id"], "joins still work"


@pytest.mark.parametrize("role", ROLE_NAMES)
def test_table_list_shows_only_visible_tables_and_columns(server: ApiProcess, role: str) -> None:
    found = HTTP.get(f"{server.url}/v1/tables", headers=headers(role)).json()["tables"]
    columns = {each["table"]: set(each["columns"]) for each in found}
    assert set(columns) == TABLE_OF_ROLE[role]
    assert columns["gold.conversions"] == set(TABLES["gold.conversions"].column_names) - HIDDEN[role]


@pytest.mark.parametrize("ask", FEEDS)
def test_row_that_stops_matching_row_filter_is_sent_as_delete(
    server: ApiProcess, home: Path, ask: Ask
) -> None:
    asked = {"table": "gold.attribution"}
    after = ask(server, "marketing", asked)[-1]["position"]
    replace_rows(home, "gold.attribution", [*CREDITS[:3], {**CREDITS[3], "credit": 0.1}, CREDITS[4]])
    try:
        messages = ask(server, "marketing", {**asked, "after": after})
        changes = [each for message in messages for each in message["changes"]]
        assert [(each["change"], each["after"]) for each in changes] == [("delete", None)]
        assert changes[0]["before"]["model"] == CREDITS[3]["model"]
    finally:
        replace_rows(home, "gold.attribution", CREDITS)


@pytest.mark.parametrize("ask", FEEDS)
def test_position_of_another_role_triggers_reset(server: ApiProcess, ask: Ask) -> None:
    asked = {"table": "gold.conversions"}
    after = ask(server, "admin", asked)[-1]["position"]
    messages = ask(server, "analyst", {**asked, "after": after})
    assert messages[0]["type"] == "reset"
    assert not any(secret in json.dumps(messages) for secret in SECRETS)


def rows_and_text(server: ApiProcess, ask: Ask, role: str, asked: Asked) -> tuple[list[dict[str, Any]], str]:
    """Return rows and response text, after checking that the text contains no secret."""
    try:
        messages = ask(server, role, asked)
        rows, text = rows_of(messages), json.dumps(messages)
    except RefusedError as error:
        rows, text = [], str(error)
    assert [secret for secret in SECRETS if secret in text and secret not in json.dumps(asked)] == []
    return rows, text


@pytest.mark.parametrize("ask", PROTOCOLS)
@pytest.mark.parametrize(
    ("role", "table", "where"),
    [
        ("analyst", "gold.conversions", {"person_id": ["person-ann"]}),
        ("analyst", "gold.conversions", {"visitor_id": ["visitor-1"]}),
        ("marketing", "gold.conversions", {"person_id": {"gte": "person-ann", "lte": "person-ann"}}),
        ("marketing", "gold.attribution", {"channel": ["Direct"]}),
        ("marketing", "gold.attribution", {"channel": [None]}),
        ("marketing", "gold.attribution", {"credit": {"lt": 0.2}}),
        ("analyst", "gold.attribution", {"channel": {"not": ["Email", "Paid Search"]}}),
    ],
)
def test_filter_on_hidden_values_matches_no_rows(
    server: ApiProcess, ask: Ask, role: str, table: str, where: dict[str, Any]
) -> None:
    assert rows_and_text(server, ask, role, {"table": table, "where": where})[0] == []
    assert rows_of(ask(server, "admin", {"table": table, "where": where})), "it is there for others"


@pytest.mark.parametrize("ask", PROTOCOLS)
@pytest.mark.parametrize(
    "asked",
    [
        {"where": {"order_id": ["order-1"]}},
        {"where": {"order_id": [None]}},
        {"where": {"order_id": {"gt": ""}}},
        {"select": "order_id"},
    ],
)
def test_hidden_column_gives_same_error_as_missing_column(server: ApiProcess, ask: Ask, asked: Asked) -> None:
    if ask is by_socket and "select" in asked:
        asked = {"select": ["order_id"]}
    text = json.dumps(asked)
    _, hidden = rows_and_text(server, ask, "analyst", {"table": "gold.conversions", **asked})
    other = json.loads(text.replace("order_id", "xrder_id"))
    _, missing = rows_and_text(server, ask, "analyst", {"table": "gold.conversions", **other})
    assert "has no column order_id" in hidden
    assert "order_id" not in hidden.replace("has no column order_id", "")
    assert hidden.partition(". ")[0] == missing.partition(". ")[0].replace("xrder_id", "order_id")


@pytest.mark.parametrize("ask", PROTOCOLS)
def test_filter_on_masked_column_matches_its_hash(server: ApiProcess, home: Path, ask: Ask) -> None:
    where = {"person_id": [hash_of(home, "person-ann")]}
    assert len(rows_of(ask(server, "analyst", {"table": "gold.conversions", "where": where}))) == 1


QUERIES = [
    "SELECT person_id FROM gold.conversions WHERE person_id = 'person-ann'",
    "SELECT c.goal FROM gold.conversions c JOIN (SELECT 'visitor-1' AS guess) g ON c.visitor_id = g.guess",
    "SELECT c.person_id, s.visitor_id FROM gold.conversions c JOIN silver.sessions s USING (visitor_id)",
    "SELECT c FROM gold.conversions c",
    "SELECT to_json(c) AS c FROM gold.conversions c",
    "SELECT max(person_id) AS most, min(visitor_id) AS least FROM gold.conversions",
    "SELECT regexp_extract(person_id, '.*') AS found FROM gold.conversions",
    "SELECT CAST(person_id AS INTEGER) AS found FROM gold.conversions",
    "SELECT CAST(visitor_id AS TIMESTAMP) AS found FROM silver.sessions",
    "SELECT error(person_id) AS found FROM gold.conversions",
    "SELECT order_id FROM gold.conversions",
    "SELECT order_i FROM gold.conversions",
    "SELECT COLUMNS('.*id') FROM gold.conversions",
    "SELECT value FROM bronze.kafka_records",
    "SELECT * FROM delta_scan('warehouse/gold/conversions')",
    "SELECT * FROM read_parquet('warehouse/gold/conversions/*.parquet')",
    "SELECT * FROM 'warehouse/gold/conversions/*.parquet'",
    "SELECT * FROM duckdb_columns()",
    "SELECT * FROM information_schema.columns",
]


@pytest.mark.parametrize("ask", PROTOCOLS)
@pytest.mark.parametrize("sql", QUERIES)
def test_query_results_and_errors_reveal_no_hidden_value(server: ApiProcess, ask: Ask, sql: str) -> None:
    rows, text = rows_and_text(server, ask, "analyst", {"sql": sql})
    if "= 'person-ann'" in sql or "guess" in sql:
        assert rows == []
    if "order_id" not in sql:
        assert "order_id" not in text


def test_same_queries_reveal_hidden_values_to_admin(server: ApiProcess) -> None:
    found = [json.dumps(rows_of(by_rows(server, "admin", {"sql": sql}))) for sql in QUERIES[:7]]
    assert all(any(secret in text for secret in SECRETS) or "Signed Up" in text for text in found)


@pytest.mark.parametrize("ask", PROTOCOLS)
def test_row_filters_apply_to_queries(server: ApiProcess, ask: Ask) -> None:
    sql = "SELECT count(*) AS n FROM gold.attribution a WHERE channel = 'Direct' OR credit < 0.2 OR true"
    found = [rows_of(ask(server, role, {"sql": sql}))[0]["n"] for role in ROLE_NAMES]
    assert found == [5, 3, 2]
