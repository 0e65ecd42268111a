"""Signatures of webhooks: HMAC-SHA256, in the forms that their providers document.

The package `standardwebhooks` checks one of these schemes, but with a fixed tolerance, and a malformed header
raises other errors than its own. Stripe's package is a client of its whole API.
"""

import base64
import binascii
import hmac
from collections.abc import Mapping, Sequence
from enum import Enum
from hashlib import sha256

_SHOPIFY, _STRIPE = "x-shopify-hmac-sha256", "stripe-signature"
_ID, _TIMESTAMP, _SIGNATURE = "webhook-id", "webhook-timestamp", "webhook-signature"
_SECRET_PREFIX, _HEX_PREFIX = "whsec_", "sha256="
_MOST_DIGITS = 12


class Scheme(str, Enum):
    """A signature scheme of webhooks."""

    STRIPE = "stripe"
    SHOPIFY = "shopify"
    STANDARD_WEBHOOKS = "standard_webhooks"
    HMAC_SHA256 = "hmac_sha256"


class SignatureError(Exception):
    """A webhook has no valid signature, or an expired one; the message says which."""


def signing_key(scheme: Scheme, secret: str) -> bytes:
    """The key bytes of a secret in the form that the provider shows.

    Raises:
        ValueError: if the secret is empty, or malformed for the scheme.
    """
    if scheme is not Scheme.STANDARD_WEBHOOKS:
        key = secret.encode()
    else:
        encoded = secret.removeprefix(_SECRET_PREFIX)
        try:
            key = base64.b64decode(encoded + "=" * (-len(encoded) % 4), validate=True)
        except (binascii.Error, ValueError):
            raise ValueError("the secret is not base64") from None
    if not key:
        raise ValueError("the secret is empty")
    return key


def check_signature(
    scheme: Scheme,
    headers: Mapping[str, str],
    body: bytes,
    keys: Sequence[bytes],
    *,
    now: float,
    tolerance: float,
    header: str = "",
) -> None:
    """Check the signature of a webhook, and its timestamp.

    Signatures are compared in constant time.

    Args:
        scheme: signature scheme.
        headers: headers of the request, by lower-case name.
        body: bytes of the request.
        keys: valid keys; two while a secret is replaced.
        now: seconds since 1970.
        tolerance: maximum seconds between a timestamp and now, for schemes with a timestamp.
        header: name of the signature's header, for `hmac_sha256`.

    Raises:
        SignatureError: if no key matches, or the timestamp is out of tolerance.
    """
    if scheme is Scheme.STRIPE:
        at, given = _stripe_parts(headers.get(_STRIPE, ""))
        signed = at.encode() + b"." + body
        _check(given, [hmac.new(key, signed, sha256).hexdigest() for key in keys])
        _check_time(at, now, tolerance)
    elif scheme is Scheme.STANDARD_WEBHOOKS:
        at = headers.get(_TIMESTAMP, "")
        parts = (each.partition(",") for each in headers.get(_SIGNATURE, "").split())
        signed = f"{headers.get(_ID, '')}.{at}.".encode() + body
        _check(
            [signature for version, _, signature in parts if version == "v1"],
            [_base64(hmac.new(key, signed, sha256).digest()) for key in keys],
        )
        _check_time(at, now, tolerance)
    elif scheme is Scheme.SHOPIFY:
        digests = [_base64(hmac.new(key, body, sha256).digest()) for key in keys]
        _check([headers.get(_SHOPIFY, "").strip()], digests)
    else:
        given = [headers.get(header.lower(), "").strip().lower().removeprefix(_HEX_PREFIX)]
        _check(given, [hmac.new(key, body, sha256).hexdigest() for key in keys])


def _stripe_parts(header: str) -> tuple[str, list[str]]:
    """The timestamp and the signatures of version 1."""
    pairs = [part.strip().partition("=") for part in header.split(",")]
    at = next((value for name, _, value in pairs if name == "t"), "")
    return at, [value for name, _, value in pairs if name == "v1"]


def _check(given: Sequence[str], expected: Sequence[str]) -> None:
    if not any(given):
        raise SignatureError("the signature is missing")
    if not any(hmac.compare_digest(one.encode(), other.encode()) for one in given for other in expected):
        raise SignatureError("the signature is not that of the body")


def _check_time(at: str, now: float, tolerance: float) -> None:
    if not (at.isascii() and at.isdigit() and len(at) <= _MOST_DIGITS):
        raise SignatureError("the signature has no timestamp")
    if abs(now - int(at)) > tolerance:
        raise SignatureError("the timestamp of the signature is too far from now")


def _base64(digest: bytes) -> str:
    return base64.b64encode(digest).decode()
