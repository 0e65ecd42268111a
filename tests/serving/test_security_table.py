"""Each cell of the table in docs/security.md is what the servers answer."""

import base64
import http.client
import json
import re
from collections.abc import Callable, Iterator
from hashlib import sha256
from urllib.parse import quote

import pytest

from kit.access import token_of, with_tokens
from kit.api_process import api_process
from kit.collecting import collector, with_sources
from kit.home import ROOT, Home
from kit.warehouse_builder import append_rows
from millrace.local.process.ports import stable_port
from serving.stream.wanted import Wanted
from serving.webhooks.store import WebhookStore
from serving.webhooks.webhook import Webhook

TABLE = re.compile(r"^\| request \|.*?\n\n", re.MULTILINE | re.DOTALL)
POLICY = "roles: {analyst: {tables: [gold.funnel]}}\nlocal: admin\n"
KEYS = {
    "stranger": "nobody",
    "browser key": "browser",
    "server key": "server",
    "token": token_of("analyst"),
    "admin token": token_of("boss"),
}
SOURCES = f"""
sources:
  - {{name: shop, key_sha256: [{sha256(b"browser").hexdigest()}], origins: ["https://shop.example"]}}
  - {{name: backend, key_sha256: [{sha256(b"server").hexdigest()}], promises: true}}
  - {{name: tickets, webhook: {{signature: stripe, secret_env: TICKETS_SECRET}}, events: {{id: id}}}}
"""
EVENT = {"type": "track", "event": "A", "userId": "u", "messageId": "1"}
PROMISE = {"Millrace-Promise": "2026-11-02T10:00:00Z"}
HOOK = {"table": "gold.funnel", "url": "https://elsewhere.example/x"}
PIXEL = base64.urlsafe_b64encode(json.dumps({**EVENT, "writeKey": ""}).encode()).decode()
OTHER_SITE = {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}
READS_FILE = "SELECT * FROM read_csv('/etc/passwd')"


class Servers:
    """Sends requests with a key to the collector and the streaming API."""

    def __init__(self, collector: int, api: int) -> None:
        self._ports = {"collector": collector, "api": api}

    def send(
        self, key: str, server: str, method: str, path: str, body: object = None, **headers: str
    ) -> tuple[int, str]:
        """Status and body of the answer."""
        login = {"Authorization": f"Bearer {key}"} if server == "api" else {}
        if server == "collector":
            path += f"{'&' if '?' in path else '?'}writeKey={quote(key)}"
        connection = http.client.HTTPConnection("127.0.0.1", self._ports[server], timeout=30)
        try:
            sent = None if body is None else json.dumps(body)
            connection.request(method, path, sent, {**login, **headers})
            answer = connection.getresponse()
            return answer.status, answer.read().decode(errors="replace")
        finally:
            connection.close()

    def counts(self, key: str) -> str:
        """Whether the collector's health report has counts."""
        _, body = self.send(key, "collector", "GET", "/health")
        return "yes" if "sources" in json.loads(body) else "no"

    def stream_counts(self, key: str) -> str:
        """Whether the streaming API's health report has counts."""
        _, body = self.send(key, "api", "GET", "/health")
        return "yes" if "subscribers" in json.loads(body) else "no"

    def first_line(self, key: str, path: str, **headers: str) -> str:
        """Status of an answer by the streaming API that has no end."""
        connection = http.client.HTTPConnection("127.0.0.1", self._ports["api"], timeout=30)
        try:
            connection.request("GET", path, headers={"Authorization": f"Bearer {key}", **headers})
            return str(connection.getresponse().status)
        finally:
            connection.close()

    def status(self, *request: object, **headers: str) -> str:
        """Status of the answer, as text."""
        return str(self.send(*request, **headers)[0])  # type: ignore[arg-type]


Asks = Callable[[Servers, str], str]


def asks(server: str, method: str, path: str, body: object = None, **headers: str) -> Asks:
    return lambda servers, key: servers.status(key, server, method, path, body, **headers)


def opens(path: str, **headers: str) -> Asks:
    return lambda servers, key: servers.first_line(key, path, **headers)


UPGRADE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
}
OTHER_TABLE = quote("SELECT touch_id FROM gold.touches")
LATE = 4_102_444_800_000_000  # microseconds

REQUESTS: dict[str, Asks] = {
    "`POST /v1/track`, no page": asks("collector", "POST", "/v1/track", EVENT),
    "`POST /v1/track`, from a page of the shop": asks(
        "collector", "POST", "/v1/track", EVENT, Origin="https://shop.example"
    ),
    "`POST /v1/track`, from a page of another site": asks(
        "collector", "POST", "/v1/track", EVENT, **OTHER_SITE
    ),
    "`POST /v1/track`, with the UID of a webhook": asks(
        "collector", "POST", "/v1/track", {**EVENT, "messageId": "tickets:1002"}
    ),
    "`POST /v1/promise`": asks("collector", "POST", "/v1/promise", **PROMISE),
    "`POST /v1/webhooks/tickets`, not signed": asks("collector", "POST", "/v1/webhooks/tickets", EVENT),
    "`POST /v1/batch`, no page": asks("collector", "POST", "/v1/batch", {"batch": [EVENT]}),
    "`GET /v1/pixel/track`, no page": asks("collector", "GET", f"/v1/pixel/track?data={PIXEL}"),
    "counts in `GET /health` of the collector": lambda servers, key: servers.counts(key),
    "`GET /v1/tables`": asks("api", "GET", "/v1/tables"),
    "`GET /v1/tables`, from a page of another site": asks("api", "GET", "/v1/tables", **OTHER_SITE),
    "`GET /v1/rows` of a table of the role": asks("api", "GET", "/v1/rows?table=gold.funnel"),
    "`GET /v1/rows` of another table": asks("api", "GET", "/v1/rows?table=gold.touches"),
    "`GET /v1/rows` of a table of the role, as of a position": asks(
        "api", "GET", f"/v1/rows?table=gold.funnel&as_of={LATE}"
    ),
    "`GET /v1/rows` of another table, as of a position": asks(
        "api", "GET", f"/v1/rows?table=gold.touches&as_of={LATE}"
    ),
    "`GET /v1/rows` after a receipt that is not known": asks(
        "api", "GET", "/v1/rows?table=gold.funnel&receipt=unknown"
    ),
    "`GET /v1/rows` of a query on another table": asks("api", "GET", f"/v1/rows?sql={OTHER_TABLE}"),
    "`GET /v1/changes` of a table of the role": opens("/v1/changes?table=gold.funnel"),
    "`GET /v1/changes` of another table": opens("/v1/changes?table=gold.touches"),
    "`GET /v1/poll` of a table of the role": asks("api", "GET", "/v1/poll?table=gold.funnel&wait=0"),
    "`GET /v1/poll` of another table": asks("api", "GET", "/v1/poll?table=gold.touches&wait=0"),
    "`/v1/socket`": opens("/v1/socket", **UPGRADE),
    "`/v1/socket`, from a page of another site": opens("/v1/socket", **UPGRADE, **OTHER_SITE),
    "`GET /v1/webhooks`": asks("api", "GET", "/v1/webhooks"),
    "`DELETE /v1/webhooks/ID` of another reader": asks("api", "DELETE", "/v1/webhooks/whk_other"),
    "counts in `GET /health` of the streaming API": lambda servers, key: servers.stream_counts(key),
    "`GET /v1/rows` of a query that reads a file": asks("api", "GET", f"/v1/rows?sql={quote(READS_FILE)}"),
    "`POST /v1/webhooks` to a host that is not declared": asks("api", "POST", "/v1/webhooks", HOOK),
    "`POST /v1/webhooks` to this machine": asks(
        "api", "POST", "/v1/webhooks", {**HOOK, "url": "http://127.0.0.1:9/x"}
    ),
    "`POST /v1/session`": asks("api", "POST", "/v1/session"),
}


def documented() -> dict[str, dict[str, str]]:
    """By request and sender, the cell of the table."""
    found = TABLE.search((ROOT / "docs" / "security.md").read_text(encoding="utf-8"))
    assert found is not None
    head, _, *lines = (
        [cell.strip() for cell in line.strip("| ").split(" | ")] for line in found[0].strip().splitlines()
    )
    return {name: dict(zip(head[1:], cells, strict=True)) for name, *cells in lines}


@pytest.fixture(scope="module")
def servers(new_home: Callable[..., Home], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    untrusted = {"MILLRACE_TRUST_LOCAL": "false"}
    home = with_sources(new_home(TICKETS_SECRET="whsec_secret", **untrusted), SOURCES)
    served, port = tmp_path_factory.mktemp("api"), stable_port()
    with_tokens(served, POLICY, analyst="analyst", boss="admin")
    for name, row in (("gold.funnel", {"step": "visit"}), ("gold.touches", {"touch_id": "t1"})):
        append_rows(served, name, [row])
    (served / "collect").mkdir()
    other = Webhook("whk_other", "other", "https://a.example/", Wanted("gold.funnel"), 0.0, "whsec_x")
    assert WebhookStore(served / "serve" / "webhooks.db").add(other, 1)
    with collector(home, port), api_process(served, place=served, **untrusted) as api:
        yield Servers(port, api.port)


def test_table_has_every_request_and_sender() -> None:
    found = documented()
    assert set(found) == set(REQUESTS)
    assert all(set(cells) == set(KEYS) for cells in found.values())


@pytest.mark.parametrize("request_", REQUESTS)
def test_cells_are_what_the_servers_answer(servers: Servers, request_: str) -> None:
    given = {sender: REQUESTS[request_](servers, key) for sender, key in KEYS.items()}
    assert given == documented()[request_]
