"""Readers authenticate by access token or session cookie; only localhost may read without either."""

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
from lakehouse.access.policy import Policy, load_policy
from lakehouse.access.role import Role
from lakehouse.access.tokens import Token, digest_of
from serving.api.readers import Readers, UnknownReaderError
from serving.api.sessions import COOKIE, Sessions

EMPTY_POLICY = "roles: {}\n"
LOCAL_ADMIN_POLICY = "local: admin\n"
LOCAL_HOST = "127.0.0.1:8789"


def connection(address: str = "127.0.0.1", **headers: str) -> HTTPConnection:
    """A request from an address. Its Host header is localhost unless given."""
    found = {"host": LOCAL_HOST, **{name.replace("_", "-"): value for name, value in headers.items()}}
    raw = [(name.encode(), value.encode("latin-1")) for name, value in found.items()]
    return HTTPConnection({"type": "http", "headers": raw, "client": (address, 5000), "path": "/"})


def readers(folder: Path, text: str, *, trusts_local: bool = True) -> Readers:
    found = policy(folder, text)
    return Readers(lambda: found, Sessions(b"k" * 32), trusts_local=trusts_local)


@pytest.mark.parametrize("text", [EMPTY_POLICY, LOCAL_ADMIN_POLICY, f"{ROLES}"])
@pytest.mark.parametrize("address", ["127.0.0.1", "127.8.9.1", "::1"])
@pytest.mark.parametrize("host", [LOCAL_HOST, "localhost:8789", "[::1]:8789", "127.0.0.1"])
def test_trusted_localhost_reads_as_admin_without_token(
    tmp_path: Path, text: str, address: str, host: str
) -> None:
    found = readers(tmp_path, text).find(connection(address, host=host))
    assert (found.role.name, found.is_local) == ("admin", True)


@pytest.mark.parametrize("text", [EMPTY_POLICY, LOCAL_ADMIN_POLICY])
def test_localhost_is_not_trusted_by_default(tmp_path: Path, text: str) -> None:
    found = policy(tmp_path, text)
    with pytest.raises(UnknownReaderError):
        Readers(lambda: found, Sessions(b"k" * 32)).find(connection())


@pytest.mark.parametrize("text", [EMPTY_POLICY, LOCAL_ADMIN_POLICY])
@pytest.mark.parametrize(
    ("address", "headers"),
    [
        ("10.0.0.7", {}),
        ("192.168.1.4", {"host": "localhost:8789"}),
        ("127.0.0.1", {"x_forwarded_for": "10.0.0.7"}),
        ("127.0.0.1", {"forwarded": "for=10.0.0.7"}),
        ("127.0.0.1", {"host": "shop.example.com"}),  # DNS rebinding: a foreign name for localhost
        ("127.0.0.1", {"host": "127.0.0.1.example.com"}),
        ("127.0.0.1", {"host": ""}),
        ("127.0.0.1", {"host": "[x"}),
        ("127.0.0.1", {"origin": "https://example.com"}),
        ("127.0.0.1", {"origin": "http://127.0.0.1:3000"}),
        ("127.0.0.1", {"origin": "null"}),
        ("127.0.0.1", {"sec_fetch_site": "cross-site"}),  # an image or a script of another site
        ("127.0.0.1", {"sec_fetch_site": "same-site"}),
        ("127.0.0.1", {"origin": "http://[x"}),
    ],
)
def test_remote_proxied_or_cross_origin_request_is_rejected(
    tmp_path: Path, text: str, address: str, headers: dict[str, str]
) -> None:
    with pytest.raises(UnknownReaderError):
        readers(tmp_path, text).find(connection(address, **headers))


def test_localhost_needs_token_when_tokens_exist_without_local_role(tmp_path: Path) -> None:
    conf = with_tokens(tmp_path, EMPTY_POLICY, shop="admin")
    with pytest.raises(UnknownReaderError):
        readers(tmp_path, (conf / "access.yml").read_text()).find(connection())


def test_same_origin_request_from_localhost_is_local(tmp_path: Path) -> None:
    assert readers(tmp_path, EMPTY_POLICY).find(connection(origin=f"http://{LOCAL_HOST}")).is_local


class MutablePolicy:
    """A policy whose tokens change. Each token has a name, a role and an expiry."""

    def __init__(self, home: Path) -> None:
        self.roles = {name: Role(name, MaskKey(home)) for name in ("admin", "analyst")}
        self.tokens: dict[str, tuple[str, datetime | None]] = {}
        self.secrets: dict[str, str] = {}
        self.sessions = Sessions(b"k" * 32)
        self.readers = Readers(self._policy, self.sessions)

    def _policy(self) -> Policy:
        found = [
            Token(name, digest_of(self.secrets.get(name, token_of(name))), role, at)
            for name, (role, at) in self.tokens.items()
        ]
        return Policy(self.roles, tuple(found), account_default=None)

    def cookie(self, name: str) -> str:
        response = Response()
        token = next(each for each in self._policy().tokens if each.name == name)
        self.sessions.begin(response, token, is_https=False)
        return response.headers["set-cookie"].partition(";")[0]


@pytest.fixture
def mutable_policy(tmp_path: Path) -> MutablePolicy:
    found = MutablePolicy(tmp_path)
    found.tokens["shop"] = ("analyst", None)
    return found


def bearer(name: str) -> HTTPConnection:
    return connection("10.0.0.7", authorization=f"Bearer {token_of(name)}")


def test_token_or_cookie_grants_role_until_token_changes_or_is_removed(mutable_policy: MutablePolicy) -> None:
    for request in (bearer("shop"), connection("10.0.0.7", cookie=mutable_policy.cookie("shop"))):
        mutable_policy.tokens["shop"] = ("analyst", None)
        found = mutable_policy.readers.find(request)
        assert (found.name, found.role.name, found.is_local) == ("shop", "analyst", False)
        assert found.is_known()
        mutable_policy.tokens["other"] = ("admin", None)
        assert found.is_known(), "another token does not matter"
        mutable_policy.tokens["shop"] = ("admin", None)
        assert not found.is_known(), "it would see something else"
        del mutable_policy.tokens["shop"]
        assert not found.is_known()
        with pytest.raises(UnknownReaderError):
            mutable_policy.readers.find(request)


def test_cookie_of_a_rotated_token_is_rejected(mutable_policy: MutablePolicy) -> None:
    request = connection("10.0.0.7", cookie=mutable_policy.cookie("shop"))
    found = mutable_policy.readers.find(request)
    mutable_policy.secrets["shop"] = "rotated"
    assert not found.is_known()
    with pytest.raises(UnknownReaderError):
        mutable_policy.readers.find(request)


def test_expired_token_is_rejected(mutable_policy: MutablePolicy) -> None:
    now = datetime.now(timezone.utc)
    mutable_policy.tokens["shop"] = ("analyst", now + timedelta(hours=1))
    found = mutable_policy.readers.find(bearer("shop"))
    mutable_policy.tokens["shop"] = ("analyst", now)
    assert not found.is_known()
    assert mutable_policy.readers.role_of("shop") is None
    for request in (bearer("shop"), connection(cookie=mutable_policy.cookie("shop"))):
        with pytest.raises(UnknownReaderError):
            mutable_policy.readers.find(request)


@pytest.mark.parametrize(
    "authorization", ["Bearer x", "Bearer ", "Bearer", "Bearer é", "Basic c2hvcDp4", "shop-token", ""]
)
def test_unknown_or_malformed_authorization_is_rejected(
    mutable_policy: MutablePolicy, authorization: str
) -> None:
    with pytest.raises(UnknownReaderError):
        mutable_policy.readers.find(connection("10.0.0.7", authorization=authorization))


def test_unknown_token_or_cookie_does_not_fall_back_to_local_access(tmp_path: Path) -> None:
    for headers in ({"authorization": "Bearer x"}, {"cookie": f"{COOKIE}=x"}):
        with pytest.raises(UnknownReaderError):
            readers(tmp_path, EMPTY_POLICY).find(connection(**headers))


def test_authenticated_reader_outlives_its_cookie(
    mutable_policy: MutablePolicy, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = connection(cookie=mutable_policy.cookie("shop"))
    found = mutable_policy.readers.find(request)
    monkeypatch.setattr(Sessions, "read", lambda *_: None)
    assert found.is_known()
    with pytest.raises(UnknownReaderError):
        mutable_policy.readers.find(request)


def test_token_behind_a_proxy_with_a_login_of_its_own_has_its_own_header(tmp_path: Path) -> None:
    with_tokens(tmp_path, shop="analyst")
    found = load_policy(tmp_path / "conf", tmp_path)
    known = Readers(lambda: found, Sessions(b"k" * 32))
    of_workspace = {"authorization": "Bearer of-the-workspace"}
    reader = known.find(connection("10.0.0.7", millrace_token=token_of("shop"), **of_workspace))
    assert reader.name == "shop"
    for headers in (
        of_workspace,
        {"millrace_token": "unknown", "authorization": f"Bearer {token_of('shop')}"},
    ):
        with pytest.raises(UnknownReaderError):
            known.find(connection("10.0.0.7", **headers))


def test_token_named_local_gets_its_own_role(tmp_path: Path) -> None:
    conf = with_tokens(tmp_path, ROLES, local="marketing")
    found = readers(tmp_path, (conf / "access.yml").read_text())
    reader = found.find(bearer("local"))
    role = found.role_of(reader.name)
    assert role is not None
    assert role.name == "marketing"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    home = tmp_path_factory.mktemp("home")
    with api_client(home, with_tokens(home, EMPTY_POLICY, shop="admin")) as client:
        yield client


SHOP_HEADERS = {"Authorization": f"Bearer {token_of('shop')}"}
TABLE_QUERY = "table=gold.funnel"


@pytest.mark.parametrize(
    "headers", [{}, {"Authorization": "Bearer x"}, {**SHOP_HEADERS, "Origin": "http://other"}]
)
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/tables"),
        ("GET", f"/v1/rows?{TABLE_QUERY}"),
        ("GET", f"/v1/changes?{TABLE_QUERY}"),
        ("GET", f"/v1/poll?{TABLE_QUERY}"),
        ("POST", "/v1/session"),
        ("GET", "/v1/webhooks"),
        ("POST", "/v1/webhooks"),
        ("DELETE", "/v1/webhooks/whk_1"),
    ],
)
def test_unauthenticated_or_cross_origin_request_gets_401(
    client: TestClient, method: str, path: str, headers: dict[str, str]
) -> None:
    answer = client.request(method, path, headers=headers)
    assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize(
    "headers", [{}, {"Authorization": "Bearer x"}, {**SHOP_HEADERS, "Origin": "http://other"}]
)
def test_unauthenticated_or_cross_origin_websocket_is_rejected(
    client: TestClient, headers: dict[str, str]
) -> None:
    with (
        pytest.raises(WebSocketDisconnect),
        client.websocket_connect(f"ws://{LOCAL_HOST}/v1/socket", headers=headers),
    ):
        pass


def test_session_cookie_authenticates_until_session_is_deleted(client: TestClient) -> None:
    assert client.post("/v1/session", headers=SHOP_HEADERS).status_code == 204
    assert client.get("/v1/tables").status_code == 200
    assert client.post("/v1/session").status_code == 204
    with client.websocket_connect(
        f"ws://{LOCAL_HOST}/v1/socket", headers={"Origin": f"http://{LOCAL_HOST}"}
    ) as socket:
        socket.send_json({"table": "gold.nothing"})
        assert "not a table" in socket.receive_json()["reason"], "it was let in"
    with (
        pytest.raises(WebSocketDisconnect),
        client.websocket_connect(f"ws://{LOCAL_HOST}/v1/socket", headers={"Origin": "http://other"}),
    ):
        pass
    assert client.delete("/v1/session").status_code == 204
    assert client.get("/v1/tables").status_code == 401


def test_localhost_gets_no_session_cookie(tmp_path: Path) -> None:
    with api_client(tmp_path) as client:
        answer = client.post("/v1/session")
        assert answer.status_code == 204
        assert "set-cookie" not in answer.headers
        assert client.get("/v1/tables").status_code == 200


def test_remote_request_is_rejected_without_declared_tokens(tmp_path: Path) -> None:
    with api_client(tmp_path, address="10.0.0.7") as client:
        assert client.get("/v1/tables").status_code == 401
