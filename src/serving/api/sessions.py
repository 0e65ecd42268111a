"""Session cookies of browsers: EventSource sends no headers, and a token must not be in a URL."""

import base64
import hmac
import time
from collections.abc import Callable
from typing import NamedTuple

from starlette.responses import Response

from lakehouse.access.tokens import Token

COOKIE = "millrace_session"
_SECONDS = 15 * 60
_MOST_SECONDS = 24 * 60 * 60
_SIGNATURE = 32
_DIGITS = 32


class Session(NamedTuple):
    """What a cookie says of a token: name, first digits of its SHA-256, and when it was sent (s)."""

    name: str
    digest: str
    since: int

    def is_of(self, token: Token) -> bool:
        """Whether it began with this token: one of the same name with another secret is another one."""
        return self.name == token.name and hmac.compare_digest(self.digest, token.sha256[:_DIGITS])


class Sessions:
    """Signs cookies, each valid for 15 minutes, the last one until a day after the token was sent.

    Args:
        key: secret of the home, shared by all its servers.
        clock: returns seconds since 1970.
    """

    def __init__(self, key: bytes, clock: Callable[[], float] = time.time) -> None:
        self._key = key
        self._clock = clock

    def begin(self, response: Response, token: Token, since: int | None = None, *, is_https: bool) -> None:
        """Set the cookie.

        Args:
            response: response that gets the cookie.
            token: of the reader.
            since: when the token was sent, in seconds since 1970; None: now.
            is_https: whether the cookie is for HTTPS only.
        """
        now = int(self._clock())
        since = now if since is None else since
        until = min(now + _SECONDS, since + _MOST_SECONDS)
        text = f"{until} {since} {token.sha256[:_DIGITS]} {token.name}".encode()
        value = base64.urlsafe_b64encode(self._signature(text) + text).decode()
        response.set_cookie(
            COOKIE, value, max_age=until - now, httponly=True, samesite="strict", secure=is_https
        )

    def end(self, response: Response) -> None:
        """Remove the cookie."""
        response.delete_cookie(COOKIE, httponly=True, samesite="strict")

    def read(self, cookie: str) -> Session | None:
        """What a cookie says; None if its signature is not valid, or it has expired."""
        try:
            signed = base64.urlsafe_b64decode(cookie.encode())
        except ValueError:
            return None
        signature, text = signed[:_SIGNATURE], signed[_SIGNATURE:]
        if not hmac.compare_digest(signature, self._signature(text)):
            return None
        until, since, digest, name = text.decode().split(" ", 3)
        return Session(name, digest, int(since)) if self._clock() < int(until) else None

    def _signature(self, text: bytes) -> bytes:
        return hmac.digest(self._key, b"session " + text, "sha256")
