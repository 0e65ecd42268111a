"""Streams while conf/access.yml changes, and what the server's log has of tokens."""

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
WIDE = "roles: {shop: {tables: ['gold.*']}}\n"
NARROW = "roles: {shop: {tables: ['gold.*'], rows: {gold.funnel: {step: [click]}}}}\n"
NO_FUNNEL = "roles: {shop: {tables: [gold.traffic]}}\n"
HEADERS = {"Authorization": f"Bearer {token_of('bi')}"}
MOST_MESSAGES = 40
HEARTBEAT = 0.3


@pytest.fixture
def home(tmp_path: Path) -> Path:
    rows = [{"day": date(2026, 1, 1), "step": step, "visitors": 7} for step in ("visit", "click")]
    append_rows(tmp_path, TABLE, rows)
    with_tokens(tmp_path, WIDE, bi="shop")
    return tmp_path


@pytest.fixture
def client(home: Path) -> Iterator[TestClient]:
    with api_client(home, home / "conf", address="10.0.0.7", heartbeat=HEARTBEAT) as client:
        yield client


def until(socket: WebSocketTestSession, kind: str) -> dict[str, Any]:
    """The next message of a kind; heartbeats bound how long this takes."""
    for _ in range(MOST_MESSAGES):
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
        (WIDE, {"other": "shop"}),
        (WIDE, {"bi": "admin"}),
        (NARROW, {"bi": "shop"}),
        (NO_FUNNEL, {"bi": "shop"}),
    ],
    ids=["token removed", "another role", "fewer rows", "no such table"],
)
def test_a_stream_ends_when_its_reader_sees_something_else(
    client: TestClient, home: Path, text: str, tokens: dict[str, str]
) -> None:
    with subscribed(client) as socket:
        until(socket, "heartbeat")
        with_tokens(home, text, **tokens)
        assert "token" in until(socket, "closed")["reason"]


def test_a_stream_goes_on_when_others_get_tokens(client: TestClient, home: Path) -> None:
    with subscribed(client) as socket:
        until(socket, "heartbeat")
        with_tokens(home, WIDE, bi="shop", late="shop")
        late = {"Authorization": f"Bearer {token_of('late')}"}
        eventually(lambda: client.get("/v1/tables", headers=late).status_code == 200)
        append_rows(home, TABLE, [{"day": date(2026, 1, 2), "step": "visit", "visitors": 1}])
        assert until(socket, "changes")["changes"][0]["after"]["day"] == "2026-01-02"
        with_tokens(home, WIDE, other="shop")
        until(socket, "closed")


def test_a_position_of_a_wider_role_gives_reset_and_what_is_left(client: TestClient, home: Path) -> None:
    asked = {"table": TABLE, "wait": 0}
    before = client.get("/v1/poll", params=asked, headers=HEADERS).json()["messages"]
    assert [len(message.get("rows", ())) for message in before if message.get("rows")] == [2]
    asked["after"] = before[-1]["position"]
    with_tokens(home, NARROW, bi="shop")

    def after() -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = client.get("/v1/poll", params=asked, headers=HEADERS).json()["messages"]
        return found if found[0]["type"] == "reset" else []

    rows = [row for message in eventually(after) for row in message.get("rows", ())]
    assert [row["step"] for row in rows] == ["click"]


def answers(url: str, token: str) -> list[str]:
    """What the server says to a token, right or wrong, and to mistakes."""
    headers = {"Authorization": f"Bearer {token}"}
    paths = ("/v1/tables", f"/v1/rows?table={TABLE}", "/v1/rows?table=x", "/v1/poll?sql=x")
    found = [httpx.get(f"{url}{path}", headers=headers).text for path in paths]
    session = httpx.post(f"{url}/v1/session", headers=headers)
    try:
        with connect(f"{url.replace('http', 'ws')}/v1/socket", additional_headers=headers) as socket:
            socket.send(json.dumps({"table": "x"}))
            said = str(socket.recv())
    except InvalidStatus as refused:
        said = str(refused.response)
    return [*found, session.text, str(session.headers), said]


def test_a_token_is_in_no_log_and_in_no_answer(home: Path) -> None:
    secret, wrong = token_of("bi"), "a-wrong-token-of-somebody"
    with api_process(home, place=home) as server:
        texts = [*answers(server.url, secret), *answers(server.url, wrong)]
        with (
            httpx.Client(headers=HEADERS, params={"table": TABLE}, timeout=40) as client,
            connect_sse(client, "GET", f"{server.url}/v1/changes") as source,
        ):
            events = source.iter_sse()
            assert next(events).event == "reset"
            with_tokens(home, WIDE, other="shop")
            eventually(lambda: httpx.get(f"{server.url}/v1/tables", headers=HEADERS).status_code == 401)
            append_rows(home, TABLE, [{"day": date(2026, 1, 2), "step": "visit"}])  # else a heartbeat
            assert [event.event for event in events][-1] == "closed"
        texts.append(server.log)
    assert "x is not a table" in texts[2]
    assert "the token is not known" in texts[9]
    assert [text for text in texts if secret in text or wrong in text] == []
