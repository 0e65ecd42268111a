"""Few rows are answered from one visit to a thread, and requests beyond the limit open nothing."""

import asyncio
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from starlette.testclient import TestClient

from kit.access import write_policy
from kit.api_client import api_client
from kit.warehouse_builder import append_rows
from serving.stream.hub import Hub
from serving.webhooks.store import WebhookStore

ROWS = "/v1/rows?table=gold.funnel"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    home = tmp_path_factory.mktemp("home")
    write_policy(home, "roles: {}\nlocal: admin\n")
    append_rows(home, "gold.funnel", [{"step": f"s{number}"} for number in range(300)])
    append_rows(home, "gold.touches", [{"touch_id": f"t{number:0500}"} for number in range(300)])
    with api_client(home) as client:
        yield client


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the functions that were called in threads, except those that look for webhooks."""
    found: list[str] = []
    run = asyncio.BaseEventLoop.run_in_executor

    def counted(loop: Any, executor: Any, call: Callable[..., Any], *arguments: Any) -> Any:
        inner = call.args[0] if isinstance(call, partial) else call
        if not isinstance(getattr(inner, "__self__", None), WebhookStore):
            found.append(inner.__name__)
        return run(loop, executor, call, *arguments)

    monkeypatch.setattr(asyncio.BaseEventLoop, "run_in_executor", counted)
    return found


def test_few_rows_take_one_visit_to_a_thread(client: TestClient, calls: list[str]) -> None:
    answer = client.get(ROWS)
    assert len(answer.text.splitlines()) == 300
    assert answer.headers["content-type"] == "application/x-ndjson"
    assert answer.headers["millrace-position"]
    assert calls == ["open_rows"]


def test_many_rows_are_read_in_pieces(client: TestClient, calls: list[str]) -> None:
    answer = client.get("/v1/rows?table=gold.touches")
    assert len(answer.text.splitlines()) == 300
    assert calls[:2] == ["open_rows", "next"]


def test_requests_beyond_the_limit_open_nothing(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[object] = []
    source = Hub.source

    def counted(*arguments: Any) -> Any:
        opened.append(arguments)
        return source(*arguments)

    monkeypatch.setattr(Hub, "source", counted)
    monkeypatch.setattr("serving.api.following._MOST_ROWS_OF_READER", 0)
    answer = client.get(ROWS)
    assert answer.status_code == 503
    assert "Try again later" in answer.json()["error"]
    assert not opened
    monkeypatch.setattr("serving.api.following._MOST_ROWS_OF_READER", 1)
    for _ in range(3):  # each answer makes room for the next one
        assert client.get(ROWS).status_code == 200
    assert client.get("/v1/rows?table=gold.nothing").status_code == 400
    assert client.get(ROWS).status_code == 200
    assert len(opened) == 5
