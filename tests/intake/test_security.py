"""TLS, write keys, origins and limits control who may send; the log holds no keys or personal data."""

import base64
import gzip
import http.client
import json
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import pytest

from kit.certificates import Certificates, SecureNode, new_certificates
from kit.collecting import with_sources
from kit.home import Home
from kit.polling import eventually
from millrace.local.process.ports import stable_port

EMAIL = "ada.lovelace@personal.example"
KEYS = {name: f"key-of-{name}-7f3a" for name in ("shop", "limited", "small", "web", "next")}
DIGESTS = {name: sha256(key.encode()).hexdigest() for name, key in KEYS.items()}
KEPT = "the sources stay as they were"
SOURCES = f"""
sources:
  - {{name: shop, key_sha256: {DIGESTS["shop"]}}}
  - {{name: limited, key_sha256: {DIGESTS["limited"]}, events_per_second: 2}}
  - {{name: small, key_sha256: {DIGESTS["small"]}, largest_body: 2000}}
  - {{name: web, key_sha256: {DIGESTS["web"]}, origins: ["https://shop.example"]}}
"""


@dataclass
class Served:
    """A collector with HTTPS, and clients of it."""

    home: Home
    port: int
    certificates: Certificates

    @property
    def log(self) -> str:
        return (self.home.path / "collect-main.log").read_text()

    def write_sources(self, text: str) -> None:
        (self.home.place / "conf" / "sources.yml").write_text(text)

    def post(
        self, key: str, body: bytes, context: ssl.SSLContext | None = None, **headers: str
    ) -> tuple[int, dict[str, str]]:
        """Send a body. Returns status and headers."""
        login = {"Authorization": f"Basic {base64.b64encode(f'{key}:'.encode()).decode()}"} if key else {}
        connection = http.client.HTTPSConnection(
            "127.0.0.1", self.port, timeout=10, context=context or self.certificates.trust()
        )
        try:
            connection.request("POST", "/v1/batch", body, {**login, **headers})
            answer = connection.getresponse()
            answer.read()
            return answer.status, {name.lower(): value for name, value in answer.getheaders()}
        finally:
            connection.close()

    def get_without_tls(self, path: str) -> http.client.HTTPResponse:
        """Send a GET request without TLS."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.request("GET", path)
            return connection.getresponse()
        finally:
            connection.close()

    def status(self, key: str, body: bytes, **headers: str) -> int:
        return self.post(key, body, **headers)[0]


def batch(events: int = 1, padding: int = 0, **more: str) -> bytes:
    event = {"type": "track", "event": "A", "userId": EMAIL, "properties": {"x": "y" * padding}}
    return json.dumps({"batch": [event] * events, **more}).encode()


@contextmanager
def served(
    home: Home, certificates: Certificates, *more: str, client: Path | None = None
) -> Iterator[Served]:
    port = stable_port()
    tls = ("--tls-certificate", str(certificates.server), "--tls-key", str(certificates.server), *more)
    node = SecureNode(with_sources(home, SOURCES), port, more=tls, context=certificates.trust(client))
    try:
        node.start()
        yield Served(node.home, port, certificates)
    finally:
        node.kill()


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return new_certificates(tmp_path_factory.mktemp("made") / "certificates")


@pytest.fixture(scope="module")
def https(new_home: Callable[..., Home], certificates: Certificates) -> Iterator[Served]:
    with served(new_home(), certificates) as found:
        yield found


def test_tls_is_required_and_server_certificate_is_verified(https: Served) -> None:
    assert https.status(KEYS["shop"], batch()) == 200
    with pytest.raises(ssl.SSLCertVerificationError):
        https.post(KEYS["shop"], batch(), ssl.create_default_context())
    with pytest.raises((http.client.HTTPException, OSError)):
        https.get_without_tls("/v1/pixel/track")
    assert https.status(KEYS["shop"], batch()) == 200


def test_tls_versions_before_1_2_are_rejected(https: Served) -> None:
    context = https.certificates.trust()
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.minimum_version, context.maximum_version = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1
    # The server ends the connection, mostly without an alert: the client has sent its hello.
    with pytest.raises(OSError, match=r"(?i)UNEXPECTED_EOF|ALERT_PROTOCOL_VERSION|reset"):
        https.post(KEYS["shop"], batch(), context)
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    assert https.post(KEYS["shop"], batch(), context)[0] == 200


def test_client_without_certificate_of_client_ca_is_rejected(
    new_home: Callable[..., Home], certificates: Certificates, tmp_path: Path
) -> None:
    other = new_certificates(tmp_path / "other")
    with served(
        new_home(), certificates, "--tls-client-ca", str(certificates.ca), client=certificates.client
    ) as found:
        for client in (None, other.client):
            # In TLS 1.3 the client finishes its handshake first, and sees the rejection when it reads.
            with pytest.raises((ssl.SSLError, ConnectionError, http.client.RemoteDisconnected)):
                found.post(KEYS["shop"], batch(), certificates.trust(client))
        assert found.post(KEYS["shop"], batch(), certificates.trust(certificates.client))[0] == 200
        assert found.post("guessed", batch(), certificates.trust(certificates.client))[0] == 401


def test_write_key_is_rotated_while_collector_runs(https: Served) -> None:
    both = SOURCES.replace(DIGESTS["shop"], f"[{DIGESTS['shop']}, {DIGESTS['next']}]")
    assert https.status(KEYS["next"], batch()) == 401
    https.write_sources(both)
    eventually(lambda: https.status(KEYS["next"], batch()) == 200, 10, "the new key is valid")
    assert https.status(KEYS["shop"], batch()) == 200
    https.write_sources(SOURCES.replace(DIGESTS["shop"], DIGESTS["next"]))
    eventually(lambda: https.status(KEYS["shop"], batch()) == 401, 10, "the old key is not valid")
    assert https.status(KEYS["next"], batch()) == 200
    before = https.log.count(KEPT)
    https.write_sources("sources: [")
    eventually(lambda: https.log.count(KEPT) > before, 10, "the invalid file is read")
    assert https.status(KEYS["next"], batch()) == 200
    https.write_sources(SOURCES)
    eventually(lambda: https.status(KEYS["next"], batch()) == 401, 10, "the next key is not valid")
    assert https.status(KEYS["shop"], batch()) == 200


def test_rate_limited_source_gets_429_with_retry_after(https: Served) -> None:
    assert https.status(KEYS["limited"], batch(20)) == 200
    status, headers = https.post(KEYS["limited"], batch())
    assert (status, headers["retry-after"]) == (429, "1")
    assert https.status(KEYS["shop"], batch(20)) == 200
    eventually(lambda: https.status(KEYS["limited"], batch()) == 200, 10, "it may send again")


def test_body_beyond_size_limit_of_source_gets_413(https: Served) -> None:
    large = batch(padding=2000)
    assert https.status(KEYS["small"], batch()) == 200
    assert https.status(KEYS["small"], large) == 413
    assert https.status("", batch(padding=2000, writeKey=KEYS["small"])) == 413
    assert https.status(KEYS["small"], gzip.compress(large), **{"Content-Encoding": "gzip"}) == 413
    assert https.status(KEYS["shop"], large) == 200


def test_request_from_undeclared_origin_gets_401(https: Served) -> None:
    for origin, expected in (
        ("https://shop.example", 200),
        ("https://shop.example.evil.example", 401),
        ("http://shop.example", 401),
        ("null", 401),
    ):
        assert https.status(KEYS["web"], batch(), Origin=origin) == expected


def test_log_contains_no_keys_and_no_personal_data(
    new_home: Callable[..., Home], certificates: Certificates
) -> None:
    with served(new_home(), certificates) as found:
        pixel = base64.b64encode(json.dumps({"userId": EMAIL, "writeKey": KEYS["shop"]}).encode()).decode()
        asked = (
            (KEYS["shop"], batch(), 200),
            (KEYS["shop"], batch()[:-2], 400),
            (KEYS["shop"], f'{{"batch": "{EMAIL}"}}'.encode(), 400),
            (KEYS["shop"], f'{{"batch": ["{EMAIL}", {{"userId": "\\ud800{EMAIL}"}}]}}'.encode(), 400),
            ("guessed-key-7f3a", batch(), 401),
            ("", batch(writeKey="guessed-key-7f3a"), 401),
            (KEYS["small"], batch(padding=5000), 413),
            (KEYS["limited"], batch(20), 200),
            (KEYS["limited"], batch(), 429),
        )
        for key, body, expected in asked:
            assert found.status(key, body) == expected, body
        assert found.status(KEYS["shop"], batch(), **{"Millrace-Promise": EMAIL}) == 400
        with pytest.raises((http.client.HTTPException, OSError)):
            found.get_without_tls(f"/v1/pixel/track?data={pixel}&writeKey={KEYS['shop']}")
        # A plain key instead of its SHA-256, or invalid YAML, is reported without its text.
        for text in (
            f"sources: [{{name: shop, key_sha256: {KEYS['shop']}}}]",
            f"sources: [{{name: shop, key: {KEYS['shop']}}}]",
            f"sources: [{KEYS['shop']}]",
            f"sources: [{{name: shop, key_sha256: {KEYS['shop']}, : ]",
        ):
            before = found.log.count(KEPT)
            found.write_sources(text)
            eventually(lambda before=before: found.log.count(KEPT) == before + 1, 10, "the file is read")
            assert found.status(KEYS["shop"], batch()) == 200
        log = found.log
    secrets = (EMAIL, EMAIL.partition("@")[0], pixel[:20], *KEYS.values(), *DIGESTS.values(), "guessed-key")
    assert [secret for secret in secrets if secret in log] == []
    assert "Traceback" not in log
