"""Changes of conf/access.yml apply to open streams, and no log or response contains a token."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any

import httpx
import pytest
from httpx_sse import connect_sse
from starlette.testclient import TestClient, WebSocketTestSession
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from kit.access import token_of, with_tokens
from kit.api_client import api_client
from kit.api_process import api_process
from kit.polling import eventually
from kit.warehouse_builder import append_rows

TABLE = "gold.funnel"
ALL_ROWS = "roles: {shop: {tables: ['gold.*']}}\n"
CLICK_ROWS = "roles: {shop: {tables: ['gold.*'], rows: {gold.funnel: {step: [click]}}}}\n"
NO_FUNNEL = "roles: {shop: {tables: [gold.traffic]}}\n"
HEADERS = {"Authorization": f"Bearer {token_of('bi')}"}
MAX_MESSAGES = 40
HEARTBEAT = 0.3


@pytest.fixture
def home(tmp_path: Path) -> Path:
    rows = [{"day": date(2026, 1, 1), "step": step, "visitors": 7} for step in ("visit", "click")]
    append_rows(tmp_path, TABLE, rows)
    with_tokens(tmp_path, ALL_ROWS, bi="shop")
    return tmp_path


@pytest.fixture
def client(home: Path) -> Iterator[TestClient]:
    with api_client(home, home / "conf", address="10.0.0.7", heartbeat=HEARTBEAT) as client:
        yield client


def next_message(socket: WebSocketTestSession, kind: str) -> dict[str, Any]:
    """Return the next message of a kind. Heartbeats bound the wait."""
    for _ in range(MAX_MESSAGES):
        message: dict[str, Any] = socket.receive_json()
        if message["type"] == kind:
            return message
    raise AssertionError(f"no {kind}")


@contextmanager
def subscribed(client: TestClient, **asked: Any) -> Iterator[WebSocketTestSession]:
    with client.websocket_connect("ws://127.0.0.1:8789/v1/socket", headers=HEADERS) as socket:
        socket.send_json({"table": TABLE, **asked})
        yield socket


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        (ALL_ROWS, {"other": "shop"}),
        (ALL_ROWS, {"bi": "admin"}),
        (CLICK_ROWS, {"bi": "shop"}),
        (NO_FUNNEL, {"bi": "shop"}),
    ],
    ids=["token removed", "another role", "fewer rows", "no such table"],
)
def test_stream_closes_when_its_token_or_role_changes(
    client: TestClient, home: Path, text: str, tokens: dict[str, str]
) -> None:
    with subscribed(client) as socket:
        next_message(socket, "heartbeat")
        with_tokens(home, text, **tokens)
        assert "token" in next_message(socket, "closed")["reason"]


def test_stream_continues_when_another_token_is_added(client: TestClient, home: Path) -> None:
    with subscribed(client) as socket:
        next_message(socket, "heartbeat")
        with_tokens(home, ALL_ROWS, bi="shop", late="shop")
        late = {"Authorization": f"Bearer {token_of('late')}"}
        eventually(lambda: client.get("/v1/tables", headers=late).status_code == 200)
        append_rows(home, TABLE, [{"day": date(2026, 1, 2), "step": "visit", "visitors": 1}])
        assert next_message(socket, "changes")["changes"][0]["after"]["day"] == "2026-01-02"
        with_tokens(home, ALL_ROWS, other="shop")
        next_message(socket, "closed")


def test_poll_from_position_of_wider_role_resets_to_visible_rows(client: TestClient, home: Path) -> None:
    asked = {"table": TABLE, "wait": 0}
    before = client.get("/v1/poll", params=asked, headers=HEADERS).json()["messages"]
    assert [len(message.get("rows", ())) for message in before if message.get("rows")] == [2]
    asked["after"] = before[-1]["position"]
    with_tokens(home, CLICK_ROWS, bi="shop")

    def after() -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = client.get("/v1/poll", params=asked, headers=HEADERS).json()["messages"]
        return found if found[0]["type"] == "reset" else []

    rows = [row for message in eventually(after) for row in message.get("rows", ())]
    assert [row["step"] for row in rows] == ["click"]


def response_texts(url: str, token: str) -> list[str]:
    """Responses of the server to valid and invalid requests with a token."""
    headers = {"Authorization": f"Bearer {token}"}
    paths = ("/v1/tables", f"/v1/rows?table={TABLE}", "/v1/rows?table=x", "/v1/poll?sql=x")
    found = [httpx.get(f"{url}{path}", headers=headers).text for path in paths]
    session = httpx.post(f"{url}/v1/session", headers=headers)
    try:
        with connect(f"{url.replace('http', 'ws')}/v1/socket", additional_headers=headers) as socket:
            socket.send(json.dumps({"table": "x"}))
            reply = str(socket.recv())
    except InvalidStatus as refused:
        reply = str(refused.response)
    return [*found, session.text, str(session.headers), reply]


def test_tokens_never_appear_in_logs_or_responses(home: Path) -> None:
    secret, wrong = token_of("bi"), "a-wrong-token-of-somebody"
    with api_process(home, place=home) as server:
        texts = [*response_texts(server.url, secret), *response_texts(server.url, wrong)]
        with (
            httpx.Client(headers=HEADERS, params={"table": TABLE}, timeout=40) as client,
            connect_sse(client, "GET", f"{server.url}/v1/changes") as source,
        ):
            events = source.iter_sse()
            assert next(events).event == "reset"
            with_tokens(home, ALL_ROWS, other="shop")
            eventually(lambda: httpx.get(f"{server.url}/v1/tables", headers=HEADERS).status_code == 401)
            append_rows(home, TABLE, [{"day": date(2026, 1, 2), "step": "visit"}])  # wakes the stream early
            assert [event.event for event in events][-1] == "closed"
        texts.append(server.log)
    assert "x is not a table" in texts[2]
    assert "the token is not known" in texts[9]
    assert [text for text in texts if secret in text or wrong in text] == []
