"""The cookie of a session says who reads, until it is too old, and cannot be made by anybody else."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.responses import Response

from serving.api.sessions import COOKIE, Sessions

KEY = b"k" * 32
QUARTER_HOUR = 15 * 60


class Clock:
    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def cookie_of(sessions: Sessions, name: str, *, is_https: bool = False) -> tuple[str, str]:
    """The cookie's value, and the whole header."""
    response = Response()
    sessions.begin(response, name, is_https=is_https)
    header = response.headers["set-cookie"]
    return header.partition("=")[2].partition(";")[0].strip('"'), header


def test_a_cookie_has_its_name_for_a_quarter_of_an_hour() -> None:
    clock = Clock()
    sessions = Sessions(KEY, clock)
    cookie, _ = cookie_of(sessions, "shop-bi")
    clock.now += QUARTER_HOUR - 0.001
    assert sessions.name_in(cookie) == "shop-bi"
    clock.now += 0.001
    assert sessions.name_in(cookie) is None


def test_a_cookie_is_for_this_site_and_no_script() -> None:
    _, plain = cookie_of(Sessions(KEY), "a")
    _, secure = cookie_of(Sessions(KEY), "a", is_https=True)
    assert plain.startswith(f"{COOKIE}=")
    parts = {part.strip().lower() for part in plain.split(";")[1:]}
    assert {"httponly", "samesite=strict", f"max-age={QUARTER_HOUR}"} <= parts
    assert "secure" not in parts
    assert "secure" in {part.strip().lower() for part in secure.split(";")}


def test_every_node_of_a_home_knows_the_cookie_and_no_other_does() -> None:
    cookie, _ = cookie_of(Sessions(KEY), "a")
    assert Sessions(KEY).name_in(cookie) == "a"
    assert Sessions(b"x" * 32).name_in(cookie) is None


@given(st.integers(min_value=0), st.integers(1, 255))
def test_no_bit_of_a_cookie_can_be_changed(place: int, flips: int) -> None:
    sessions = Sessions(KEY)
    signed = bytearray(base64.urlsafe_b64decode(cookie_of(sessions, "shop-bi")[0]))
    signed[place % len(signed)] ^= flips
    assert sessions.name_in(base64.urlsafe_b64encode(signed).decode()) is None


def test_a_signature_is_not_one_of_another_name_or_time() -> None:
    clock = Clock()
    sessions = Sessions(KEY, clock)
    signed = base64.urlsafe_b64decode(cookie_of(sessions, "a")[0])
    signature, text = signed[:32], signed[32:]
    for other in (text.replace(b" a", b" admin"), b"9" + text, text + b"a"):
        assert sessions.name_in(base64.urlsafe_b64encode(signature + other).decode()) is None


@given(st.text())
def test_any_other_text_is_nobody(cookie: str) -> None:
    assert Sessions(KEY).name_in(cookie) is None


@pytest.mark.parametrize("cookie", ["", "a", "====", "é", "YQ==", "\ud800"])
def test_odd_text_is_nobody(cookie: str) -> None:
    assert Sessions(KEY).name_in(cookie) is None
