"""The session cookie identifies a reader until it expires, and cannot be forged."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.responses import Response

from lakehouse.access.tokens import Token, digest_of
from serving.api.sessions import COOKIE, Sessions

KEY = b"k" * 32
QUARTER_HOUR = 15 * 60
DAY = 24 * 60 * 60


class Clock:
    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def token(name: str, secret: str = "secret") -> Token:
    return Token(name, digest_of(secret), "admin")


def cookie_of(
    sessions: Sessions, name: str, since: int | None = None, *, is_https: bool = False
) -> tuple[str, str]:
    """The cookie's value, and the whole header."""
    response = Response()
    sessions.begin(response, token(name), since, is_https=is_https)
    header = response.headers["set-cookie"]
    return header.partition("=")[2].partition(";")[0].strip('"'), header


def test_cookie_expires_after_fifteen_minutes() -> None:
    clock = Clock()
    sessions = Sessions(KEY, clock)
    cookie, _ = cookie_of(sessions, "shop-bi")
    clock.now += QUARTER_HOUR - 0.001
    assert name_in(sessions, cookie) == "shop-bi"
    clock.now += 0.001
    assert sessions.read(cookie) is None


def name_in(sessions: Sessions, cookie: str) -> str | None:
    session = sessions.read(cookie)
    return None if session is None else session.name


def test_cookies_end_a_day_after_the_token_was_sent() -> None:
    clock = Clock()
    sessions, sent = Sessions(KEY, clock), int(clock.now)
    clock.now += DAY - 60
    cookie, header = cookie_of(sessions, "a", sent)
    assert "Max-Age=60" in header
    session = sessions.read(cookie)
    assert session is not None
    assert session.since == sent
    clock.now += 60
    assert sessions.read(cookie) is None
    assert sessions.read(cookie_of(sessions, "a", sent)[0]) is None


def test_cookie_is_of_one_token_and_not_of_another_with_its_name() -> None:
    session = Sessions(KEY).read(cookie_of(Sessions(KEY), "a")[0])
    assert session is not None
    assert session.is_of(token("a"))
    assert not session.is_of(token("a", "rotated"))
    assert not session.is_of(token("b"))


def test_cookie_is_http_only_same_site_and_secure_over_https() -> None:
    _, plain = cookie_of(Sessions(KEY), "a")
    _, secure = cookie_of(Sessions(KEY), "a", is_https=True)
    assert plain.startswith(f"{COOKIE}=")
    parts = {part.strip().lower() for part in plain.split(";")[1:]}
    assert {"httponly", "samesite=strict", f"max-age={QUARTER_HOUR}"} <= parts
    assert "secure" not in parts
    assert "secure" in {part.strip().lower() for part in secure.split(";")}


def test_cookie_is_valid_only_with_the_key_that_signed_it() -> None:
    cookie, _ = cookie_of(Sessions(KEY), "a")
    assert name_in(Sessions(KEY), cookie) == "a"
    assert Sessions(b"x" * 32).read(cookie) is None


@given(st.integers(min_value=0), st.integers(1, 255))
def test_cookie_with_an_altered_byte_is_rejected(place: int, flips: int) -> None:
    sessions = Sessions(KEY)
    signed = bytearray(base64.urlsafe_b64decode(cookie_of(sessions, "shop-bi")[0]))
    signed[place % len(signed)] ^= flips
    assert sessions.read(base64.urlsafe_b64encode(signed).decode()) is None


def test_signature_of_another_name_or_time_is_rejected() -> None:
    clock = Clock()
    sessions = Sessions(KEY, clock)
    signed = base64.urlsafe_b64decode(cookie_of(sessions, "a")[0])
    signature, text = signed[:32], signed[32:]
    for other in (text.replace(b" a", b" admin"), b"9" + text, text + b"a"):
        assert sessions.read(base64.urlsafe_b64encode(signature + other).decode()) is None


@given(st.text())
def test_arbitrary_text_is_rejected(cookie: str) -> None:
    assert Sessions(KEY).read(cookie) is None


@pytest.mark.parametrize("cookie", ["", "a", "====", "é", "YQ==", "\ud800"])
def test_malformed_cookie_is_rejected(cookie: str) -> None:
    assert Sessions(KEY).read(cookie) is None
