"""Tokens of readers. Only their SHA-256 is stored."""

import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from hmac import compare_digest

_BYTES = 32


@dataclass(frozen=True)
class Token:
    """A declared token.

    Args:
        name: of the reader.
        sha256: SHA-256 of the token, in hexadecimal digits.
        role: name of its role.
        expires: time from which it is refused, in UTC; None: never.
    """

    name: str
    sha256: str
    role: str
    expires: datetime | None = None


def make_token() -> str:
    """A new token, of 256 random bits."""
    return secrets.token_urlsafe(_BYTES)


def digest_of(token: str) -> str:
    """The SHA-256 of a token, which is stored instead of the token."""
    return sha256(token.encode(errors="surrogatepass")).hexdigest()


def find_token(declared: Iterable[Token], given: str, now: datetime) -> Token | None:
    """The declared token; None if there is none, or it has expired.

    All tokens are compared, each in constant time.
    """
    digest = digest_of(given)
    found = [token for token in declared if compare_digest(token.sha256, digest)]
    valid = (token for token in found if token.expires is None or now < token.expires)
    return next(valid, None)
