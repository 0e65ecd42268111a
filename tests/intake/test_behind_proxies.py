"""Who comes through a proxy on this machine needs a write key or a token, whatever host the request names."""

import http.client
import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from kit.access import token_of, with_tokens
from kit.api_process import api_process
from kit.collecting import ONE_SOURCE, collector, with_sources
from kit.home import Home
from kit.proxies import haproxy, nginx
from millrace.local.process.ports import stable_port

EVENT = json.dumps({"type": "track", "event": "A", "userId": "u", "messageId": "1"})
HOSTS = ({}, {"Host": "localhost"}, {"Host": "127.0.0.1", "X-Forwarded-For": "127.0.0.1"})


def status_of(port: int, method: str, path: str, body: str | None = None, **headers: str) -> int:
    """Status of a request to a port on this machine."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request(method, path, body, headers)
        return connection.getresponse().status
    finally:
        connection.close()


def proxy(name: str, folder: Path, server: str, target: int) -> AbstractContextManager[int]:
    """Runs the shipped HAProxy file of a server, or nginx without a header, in front of a port."""
    if name == "nginx":
        return nginx(folder, target)
    return haproxy(server, folder, (target, target), "/health")


@pytest.mark.parametrize("name", ["haproxy", "nginx"])
def test_collector_takes_no_event_without_write_key(
    new_home: Callable[..., Home], tmp_path: Path, name: str
) -> None:
    home, node = with_sources(new_home(MILLRACE_TRUST_LOCAL="false"), ONE_SOURCE), stable_port()
    with collector(home, node), proxy(name, tmp_path, "collector", node) as public:
        for headers in HOSTS:
            assert status_of(public, "POST", "/v1/track", EVENT, **headers) == 401
        assert status_of(public, "POST", "/v1/track?writeKey=key", EVENT) == 200


@pytest.mark.parametrize("name", ["haproxy", "nginx"])
def test_api_is_not_read_without_token_though_local_role_is_declared(tmp_path: Path, name: str) -> None:
    with_tokens(tmp_path, "local: admin\n", shop="admin")
    token = {"Authorization": f"Bearer {token_of('shop')}"}
    (tmp_path / "home").mkdir()
    served = api_process(tmp_path / "home", place=tmp_path, MILLRACE_TRUST_LOCAL="false")
    with served as server, proxy(name, tmp_path, "api", server.port) as public:
        for headers in HOSTS:
            assert status_of(public, "GET", "/v1/tables", **headers) == 401
            assert status_of(server.port, "GET", "/v1/tables", **headers) == 401
        assert status_of(public, "GET", "/v1/tables", **token) == 200


def test_trusted_collector_takes_no_event_through_haproxy(
    new_home: Callable[..., Home], tmp_path: Path
) -> None:
    node = stable_port()
    with collector(new_home(), node), proxy("haproxy", tmp_path, "collector", node) as public:
        assert status_of(node, "POST", "/v1/track", EVENT) == 200
        for headers in HOSTS:
            assert status_of(public, "POST", "/v1/track", EVENT, **headers) == 401
        other_name = {"Host": "shop.example"}  # a site's name that resolves to this machine
        assert status_of(node, "POST", "/v1/track", EVENT, **other_name) == 401
