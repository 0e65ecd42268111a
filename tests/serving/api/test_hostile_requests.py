"""Requests that are nested too deeply are refused, and readers who take nothing are disconnected."""

import asyncio
import json
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from starlette.types import Message

from kit.access import write_policy
from kit.api_client import api_client
from kit.warehouse_builder import append_rows
from lakehouse.access.mask_key import MaskKey
from lakehouse.access.role import Role
from serving.api.following import Following
from serving.api.readers import Reader
from serving.api.rows import in_pieces
from serving.api.timed_stream import TimedStream
from serving.query_limits import TryLaterError

DEEP = "[" * 15_000
NESTED = {
    "conditions": f"/v1/poll?table=gold.funnel&where={DEEP}",
    "parentheses": f"/v1/rows?sql=SELECT {'(' * 2000}1{')' * 2000} AS n FROM gold.funnel",
    "terms": f"/v1/rows?sql=SELECT {'%2B'.join(['1'] * 900)} AS n FROM gold.funnel",
}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    home = tmp_path_factory.mktemp("home")
    write_policy(home, "roles: {}\nlocal: admin\n")
    append_rows(home, "gold.funnel", [{"step": "visit"}])
    with api_client(home) as client:
        yield client


@pytest.mark.parametrize("path", NESTED.values(), ids=NESTED)
def test_nested_request_is_refused(client: TestClient, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 400, answer.text
    assert answer.json()["error"]


def test_nested_body_is_refused(client: TestClient) -> None:
    assert client.post("/v1/webhooks", content=f'{{"url":{DEEP}').status_code == 400


def test_nested_first_message_closes_the_socket(client: TestClient) -> None:
    with client.websocket_connect("ws://127.0.0.1:8789/v1/socket") as socket:
        socket.send_text(f'{{"table":{DEEP}')
        assert json.loads(socket.receive_text())["type"] == "closed"


def reader(home: Path) -> Reader:
    return Reader("one", Role("admin", MaskKey(home)), lambda: True)


def test_reader_who_takes_nothing_is_disconnected(tmp_path: Path) -> None:
    following, logged = Following(), list[str]()

    async def parts() -> AsyncGenerator[bytes, None]:
        yield b"a"
        yield b"b"

    async def parts_without_end() -> None:
        async def receive() -> Message:
            return await asyncio.get_running_loop().create_future()

        async def send(message: Message) -> None:
            if message["type"] == "http.response.body":
                await asyncio.get_running_loop().create_future()

        reading = following.reading(reader(tmp_path))
        stream = TimedStream(parts(), "text/plain", {}, 0.05, logged.append, reading)
        await asyncio.wait_for(stream({"type": "http"}, receive, send), 20)

    asyncio.run(parts_without_end())
    assert logged == ["disconnected, it took nothing for 0.05 s"]


def test_few_requests_for_rows_are_answered_to_a_reader_at_once(tmp_path: Path) -> None:
    following, one = Following(), reader(tmp_path)
    held = [following.reading(one) for _ in range(8)]
    for each in held:
        each.__enter__()
    with pytest.raises(TryLaterError), following.reading(one):
        pass
    held[0].__exit__(None, None, None)
    with following.reading(one):
        pass


def test_rows_are_sent_in_few_pieces() -> None:
    parts = [b"x" * 5_000] * 100
    pieces = list(in_pieces(iter(parts)))
    assert b"".join(pieces) == b"".join(parts)
    assert len(pieces) <= 15
    assert list(in_pieces(iter([]))) == [b""]
