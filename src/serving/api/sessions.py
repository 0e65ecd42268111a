"""Session cookies of browsers: EventSource sends no headers, and a token must not be in a URL."""

import base64
import hmac
import time
from collections.abc import Callable

from starlette.responses import Response

COOKIE = "millrace_session"
_SECONDS = 15 * 60
_SIGNATURE = 32


class Sessions:
    """Signs cookies with the name of a token, valid for 15 minutes.

    Args:
        key: secret of the home, shared by all its servers.
        clock: returns seconds since 1970.
    """

    def __init__(self, key: bytes, clock: Callable[[], float] = time.time) -> None:
        self._key = key
        self._clock = clock

    def begin(self, response: Response, name: str, *, is_https: bool) -> None:
        """Set the cookie.

        Args:
            response: response that gets the cookie.
            name: name of the token.
            is_https: whether the cookie is for HTTPS only.
        """
        text = f"{int(self._clock()) + _SECONDS} {name}".encode()
        value = base64.urlsafe_b64encode(self._signature(text) + text).decode()
        response.set_cookie(
            COOKIE, value, max_age=_SECONDS, httponly=True, samesite="strict", secure=is_https
        )

    def end(self, response: Response) -> None:
        """Remove the cookie."""
        response.delete_cookie(COOKIE, httponly=True, samesite="strict")

    def name_in(self, cookie: str) -> str | None:
        """The name of the token in a cookie; None if its signature is not valid, or it has expired."""
        try:
            signed = base64.urlsafe_b64decode(cookie.encode())
        except ValueError:
            return None
        signature, text = signed[:_SIGNATURE], signed[_SIGNATURE:]
        if not hmac.compare_digest(signature, self._signature(text)):
            return None
        until, _, name = text.decode().partition(" ")
        return name if self._clock() < int(until) else None

    def _signature(self, text: bytes) -> bytes:
        return hmac.digest(self._key, b"session " + text, "sha256")
