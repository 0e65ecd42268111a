"""Who reads: by token, by cookie, and from this machine alone without either."""

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from starlette.requests import HTTPConnection
from starlette.responses import Response
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from kit.access import ROLES, policy, token_of, with_tokens
from kit.api_client import api_client
from lakehouse.access.mask_key import MaskKey
from lakehouse.access.policy import Policy
from lakehouse.access.role import Role
from lakehouse.access.tokens import Token, digest_of
from serving.api.readers import Readers, UnknownReaderError
from serving.api.sessions import COOKIE, Sessions

OPEN = "roles: {}\n"
LOCAL = "local: admin\n"
HERE = "127.0.0.1:8789"


def connection(address: str = "127.0.0.1", **headers: str) -> HTTPConnection:
    """A request from an address, to this machine if no other host is named."""
    found = {"host": HERE, **{name.replace("_", "-"): value for name, value in headers.items()}}
    raw = [(name.encode(), value.encode("latin-1")) for name, value in found.items()]
    return HTTPConnection({"type": "http", "headers": raw, "client": (address, 5000), "path": "/"})


def readers(folder: Path, text: str) -> Readers:
    found = policy(folder, text)
    return Readers(lambda: found, Sessions(b"k" * 32))


@pytest.mark.parametrize("text", [OPEN, LOCAL, f"{ROLES}"])
@pytest.mark.parametrize("address", ["127.0.0.1", "127.8.9.1", "::1"])
@pytest.mark.parametrize("host", [HERE, "localhost:8789", "[::1]:8789", "127.0.0.1"])
def test_this_machine_reads_without_a_token(tmp_path: Path, text: str, address: str, host: str) -> None:
    found = readers(tmp_path, text).find(connection(address, host=host))
    assert (found.role.name, found.is_local) == ("admin", True)


@pytest.mark.parametrize("text", [OPEN, LOCAL])
@pytest.mark.parametrize(
    ("address", "headers"),
    [
        ("10.0.0.7", {}),
        ("192.168.1.4", {"host": "localhost:8789"}),
        ("127.0.0.1", {"x_forwarded_for": "10.0.0.7"}),
        ("127.0.0.1", {"forwarded": "for=10.0.0.7"}),
        ("127.0.0.1", {"host": "shop.example.com"}),  # a name that leads here: DNS rebinding
        ("127.0.0.1", {"host": "127.0.0.1.example.com"}),
        ("127.0.0.1", {"host": ""}),
        ("127.0.0.1", {"host": "[x"}),
        ("127.0.0.1", {"origin": "https://example.com"}),
        ("127.0.0.1", {"origin": "http://127.0.0.1:3000"}),
        ("127.0.0.1", {"origin": "null"}),
        ("127.0.0.1", {"origin": "http://[x"}),
    ],
)
def test_nobody_else_counts_as_this_machine(
    tmp_path: Path, text: str, address: str, headers: dict[str, str]
) -> None:
    with pytest.raises(UnknownReaderError):
        readers(tmp_path, text).find(connection(address, **headers))


def test_this_machine_reads_nothing_where_roles_are_declared_and_local_is_not(tmp_path: Path) -> None:
    conf = with_tokens(tmp_path, OPEN, shop="admin")
    with pytest.raises(UnknownReaderError):
        readers(tmp_path, (conf / "access.yml").read_text()).find(connection())


def test_a_page_of_this_site_reads(tmp_path: Path) -> None:
    assert readers(tmp_path, OPEN).find(connection(origin=f"http://{HERE}")).is_local


class Declared:
    """A policy that changes: tokens by name, and until when."""

    def __init__(self, home: Path) -> None:
        self.roles = {name: Role(name, MaskKey(home)) for name in ("admin", "analyst")}
        self.tokens: dict[str, tuple[str, datetime | None]] = {}
        self.sessions = Sessions(b"k" * 32)
        self.readers = Readers(self._policy, self.sessions)

    def _policy(self) -> Policy:
        found = [Token(name, digest_of(token_of(name)), role, at) for name, (role, at) in self.tokens.items()]
        return Policy(self.roles, tuple(found), account_default=None)

    def cookie(self, name: str) -> str:
        response = Response()
        self.sessions.begin(response, name, is_https=False)
        return response.headers["set-cookie"].partition(";")[0]


@pytest.fixture
def declared(tmp_path: Path) -> Declared:
    found = Declared(tmp_path)
    found.tokens["shop"] = ("analyst", None)
    return found


def bearer(name: str) -> HTTPConnection:
    return connection("10.0.0.7", authorization=f"Bearer {token_of(name)}")


def test_a_token_reads_with_its_role_until_it_is_removed(declared: Declared) -> None:
    for request in (bearer("shop"), connection("10.0.0.7", cookie=declared.cookie("shop"))):
        declared.tokens["shop"] = ("analyst", None)
        found = declared.readers.find(request)
        assert (found.name, found.role.name, found.is_local) == ("shop", "analyst", False)
        assert found.is_known()
        declared.tokens["other"] = ("admin", None)
        assert found.is_known(), "another token does not matter"
        declared.tokens["shop"] = ("admin", None)
        assert not found.is_known(), "it would see something else"
        del declared.tokens["shop"]
        assert not found.is_known()
        with pytest.raises(UnknownReaderError):
            declared.readers.find(request)


def test_an_expired_token_is_unknown(declared: Declared) -> None:
    now = datetime.now(timezone.utc)
    declared.tokens["shop"] = ("analyst", now + timedelta(hours=1))
    found = declared.readers.find(bearer("shop"))
    declared.tokens["shop"] = ("analyst", now)
    assert not found.is_known()
    assert declared.readers.role_of("shop") is None
    for request in (bearer("shop"), connection(cookie=declared.cookie("shop"))):
        with pytest.raises(UnknownReaderError):
            declared.readers.find(request)


@pytest.mark.parametrize(
    "authorization", ["Bearer x", "Bearer ", "Bearer", "Bearer é", "Basic c2hvcDp4", "shop-token", ""]
)
def test_an_unknown_token_is_refused_whatever_else_is_sent(declared: Declared, authorization: str) -> None:
    with pytest.raises(UnknownReaderError):
        declared.readers.find(connection("10.0.0.7", authorization=authorization))


def test_an_unknown_token_does_not_become_this_machine(tmp_path: Path) -> None:
    for headers in ({"authorization": "Bearer x"}, {"cookie": f"{COOKIE}=x"}):
        with pytest.raises(UnknownReaderError):
            readers(tmp_path, OPEN).find(connection(**headers))


def test_a_stream_goes_on_past_its_cookie(declared: Declared, monkeypatch: pytest.MonkeyPatch) -> None:
    request = connection(cookie=declared.cookie("shop"))
    found = declared.readers.find(request)
    monkeypatch.setattr(Sessions, "name_in", lambda *_: None)
    assert found.is_known()
    with pytest.raises(UnknownReaderError):
        declared.readers.find(request)


def test_a_token_named_local_is_not_this_machine(tmp_path: Path) -> None:
    conf = with_tokens(tmp_path, ROLES, local="marketing")
    found = readers(tmp_path, (conf / "access.yml").read_text())
    reader = found.find(bearer("local"))
    role = found.role_of(reader.name)
    assert role is not None
    assert role.name == "marketing"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    home = tmp_path_factory.mktemp("home")
    with api_client(home, with_tokens(home, OPEN, shop="admin")) as client:
        yield client


SHOP = {"Authorization": f"Bearer {token_of('shop')}"}
ASKED = "table=gold.funnel"


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer x"}, {**SHOP, "Origin": "http://other"}])
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/tables"),
        ("GET", f"/v1/rows?{ASKED}"),
        ("GET", f"/v1/changes?{ASKED}"),
        ("GET", f"/v1/poll?{ASKED}"),
        ("POST", "/v1/session"),
        ("GET", "/v1/webhooks"),
        ("POST", "/v1/webhooks"),
        ("DELETE", "/v1/webhooks/whk_1"),
    ],
)
def test_nobody_is_answered_with_401(
    client: TestClient, method: str, path: str, headers: dict[str, str]
) -> None:
    answer = client.request(method, path, headers=headers)
    assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer x"}, {**SHOP, "Origin": "http://other"}])
def test_a_web_socket_of_nobody_is_not_opened(client: TestClient, headers: dict[str, str]) -> None:
    with (
        pytest.raises(WebSocketDisconnect),
        client.websocket_connect(f"ws://{HERE}/v1/socket", headers=headers),
    ):
        pass


def test_a_session_is_for_requests_without_headers_and_can_be_ended(client: TestClient) -> None:
    assert client.post("/v1/session", headers=SHOP).status_code == 204
    assert client.get("/v1/tables").status_code == 200
    assert client.post("/v1/session").status_code == 204
    with client.websocket_connect(f"ws://{HERE}/v1/socket", headers={"Origin": f"http://{HERE}"}) as socket:
        socket.send_json({"table": "gold.nothing"})
        assert "not a table" in socket.receive_json()["reason"], "it was let in"
    with (
        pytest.raises(WebSocketDisconnect),
        client.websocket_connect(f"ws://{HERE}/v1/socket", headers={"Origin": "http://other"}),
    ):
        pass
    assert client.delete("/v1/session").status_code == 204
    assert client.get("/v1/tables").status_code == 401


def test_this_machine_gets_no_cookie_as_it_needs_none(tmp_path: Path) -> None:
    with api_client(tmp_path) as client:
        answer = client.post("/v1/session")
        assert answer.status_code == 204
        assert "set-cookie" not in answer.headers
        assert client.get("/v1/tables").status_code == 200


def test_another_machine_reads_nothing_while_nothing_is_declared(tmp_path: Path) -> None:
    with api_client(tmp_path, address="10.0.0.7") as client:
        assert client.get("/v1/tables").status_code == 401
