"""Sends hostile requests to the streaming API: `python -m kit.api_attacks PORT TOKEN …`."""

import http.client
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from socket import SO_RCVBUF, SOL_SOCKET, create_connection, socket
from urllib.parse import quote

from websockets.exceptions import WebSocketException
from websockets.sync.client import connect

_SILENT, _SLOW, _MANY = 40, 20, 8
_PAUSE = 0.2
_TABLE = "gold.funnel"
_LIVE = "gold.touches"

Attack = Callable[[int, str], None]


def product(table: str, factors: int) -> str:
    """A table joined with itself so often, without a condition."""
    return ", ".join(f"{table} AS t{number}" for number in range(factors))


def _query(sql: str) -> Attack:
    return lambda port, token: _ask(port, token, "GET", f"/v1/rows?sql={quote(sql)}")


def _many(sql: str) -> Attack:
    """A query with other text each time, several at once."""

    def ask(port: int, token: str) -> None:
        with ThreadPoolExecutor(_MANY) as threads:
            for number in range(_MANY):
                threads.submit(_query(f"{sql} -- {time.monotonic()} {number}"), port, token)

    return ask


def _ask(port: int, token: str, method: str, path: str, body: bytes | None = None) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request(method, path, body, {"Authorization": f"Bearer {token}"})
        connection.getresponse().read()
    finally:
        connection.close()


def _conditions(port: int, token: str) -> None:
    where = quote(json.dumps({"step": [f"{time.monotonic()}"]}))
    _ask(port, token, "GET", f"/v1/poll?table={_TABLE}&wait=0&where={where}")


def _standing(port: int, token: str) -> None:
    """Follow a query with a large result, with other text each time, on a table that changes."""
    sql = (
        f"SELECT t0.touch_id AS a, t1.touch_id AS b, {time.monotonic()} AS c FROM {product(_LIVE, 2)}"
        " ORDER BY ALL LIMIT 90000"
    )
    _ask(port, token, "GET", f"/v1/poll?wait=1&sql={quote(sql)}")


def _held(head: Callable[[str], bytes], connections: int) -> Attack:
    """Open connections, and read nothing until the server ends them."""

    def hold(port: int, token: str) -> None:
        with ExitStack() as stack:
            opened: list[socket] = []
            for _ in range(connections):
                opened.append(stack.enter_context(create_connection(("127.0.0.1", port), 20)))
                opened[-1].setsockopt(SOL_SOCKET, SO_RCVBUF, 4096)
                opened[-1].sendall(head(token))
            time.sleep(15)

    return hold


def _get(path: str) -> Callable[[str], bytes]:
    return lambda token: f"GET {path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {token}\r\n\r\n".encode()


def _body(content: bytes) -> Attack:
    return lambda port, token: _ask(port, token, "POST", "/v1/webhooks", content)


def _flood(port: int, token: str) -> None:
    """Change the settings of a subscription as often as possible."""
    headers = {"Authorization": f"Bearer {token}"}
    with connect(f"ws://127.0.0.1:{port}/v1/socket", additional_headers=headers) as opened:
        opened.send(json.dumps({"table": _TABLE}))
        until = time.monotonic() + 15
        while time.monotonic() < until:
            opened.send('{"interval": 1}')


def _deep_message(port: int, token: str) -> None:
    headers = {"Authorization": f"Bearer {token}"}
    with connect(f"ws://127.0.0.1:{port}/v1/socket", additional_headers=headers) as opened:
        opened.send('{"table":' + "[" * 60_000)
        opened.recv()


_LARGE = f"SELECT t0.step AS a, t1.step AS b FROM {product(_TABLE, 2)}"  # 90,000 rows
ATTACKS: Mapping[str, Attack] = {
    "endless query": _query(f"SELECT count(*) AS n FROM {product(_TABLE, 9)}"),
    "many endless queries": _many(f"SELECT count(*) AS n FROM {product(_TABLE, 9)}"),
    "too large a result": _query(
        f"SELECT t0.step AS a, t1.step AS b, t2.step AS c FROM {product(_TABLE, 3)}"
    ),
    "many large results": _many(_LARGE),
    "much memory": _query(f"SELECT list(t0.step || t1.step ORDER BY t2.step) AS l FROM {product(_TABLE, 5)}"),
    "deep query": _query("SELECT " + "(" * 2400 + "1" + ")" * 2400 + f" AS n FROM {_TABLE}"),
    "long query": _query("SELECT " + "+".join(["1"] * 2000) + f" AS n FROM {_TABLE}"),
    "conditions": _conditions,
    "deep conditions": lambda port, token: _ask(
        port, token, "GET", f"/v1/poll?table={_TABLE}&where=" + "[" * 15_000
    ),
    "large standing queries": _standing,
    "slow readers of rows": _held(_get(f"/v1/rows?sql={quote(_LARGE)}"), _SLOW),
    "slow readers of changes": _held(_get(f"/v1/changes?table={_LIVE}"), _SLOW),
    "slow readers of polls": _held(_get(f"/v1/poll?sql={quote(_LARGE)}"), _SLOW),
    "silent heads": _held(lambda token: b"GET /v1/ro", _SILENT),
    "silent bodies": _held(
        lambda token: (
            b"POST /v1/webhooks HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer %b\r\n"
            b"Content-Length: 4000\r\n\r\n" % token.encode()
        ),
        _SILENT,
    ),
    "large body": _body(b'{"url":"' + b"x" * (32 << 20) + b'"}'),
    "deep body": _body(b'{"url":' + b"[" * 60_000),
    "flood of messages": _flood,
    "deep message": _deep_message,
    "unknown token": lambda port, token: _ask(port, "wrong", "GET", f"/v1/rows?table={_TABLE}"),
}


def _repeat(attack: Attack, port: int, token: str) -> None:
    while True:
        with suppress(OSError, http.client.HTTPException, WebSocketException):
            attack(port, token)
        time.sleep(_PAUSE)


def main(port: int, tokens: list[str]) -> None:
    """Send hostile requests of each kind with each token, until the process is ended."""
    for attack in ATTACKS.values():
        for token in tokens:
            threading.Thread(target=_repeat, args=(attack, port, token), daemon=True).start()
    threading.Event().wait()


if __name__ == "__main__":
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    main(int(sys.argv[1]), sys.argv[2:])
