"""Certificates of searches, signed with the home's key of Ed25519."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from lakehouse.errors import MillraceError
from lakehouse.timestamps import rfc3339
from privacy.canonical import canonical, parse_canonical
from privacy.requests.register import Request
from privacy.search.home_search import SearchResult
from privacy.search.matching.patterns import LEAST_BYTES

FORMAT = "millrace certificate of a search, version 3"
ENCODINGS = ("text", "json", "url", "cut", "utf-16", "base64", "hex")

_INDENT = 1


def describe_search(
    request: Request,
    result: SearchResult,
    started_at: datetime,
    ended_at: datetime,
    identifiers: list[str],
    register: tuple[int, str],
) -> dict[str, Any]:
    """What a certificate says; no identifier is in it, unless the name of a file has one.

    Args:
        request: whom it is about.
        result: of the search.
        started_at: when it began, in UTC.
        ended_at: when it ended.
        identifiers: that were searched for.
        register: number of the register's entries, and hash of the last one.
    """
    return {
        "format": FORMAT,
        "request": {
            "id": request.id,
            "reference": request.reference,
            "received_at": rfc3339(request.received_at),
            "deadline": rfc3339(request.deadline),
            "identities": sorted(request.identities),
            "identities_shared_with_others": sorted(request.shared),
        },
        "erasure": {
            "state": request.state,
            "note": request.note,
            "versions": {name: list(versions) for name, versions in sorted(request.versions.items())},
        },
        "searched": {
            "started_at": rfc3339(started_at),
            "ended_at": rfc3339(ended_at),
            "files": result.files,
            "bytes": result.size,
            "sha256_of_files": result.sha256,
            "topics": dict(result.topics),
            "rows_of_tables": dict(result.rows),
            "encodings": list(ENCODINGS),
            "identifiers": len(identifiers),
            "identifiers_too_short_for_base64_and_hex": sum(
                len(each.encode(errors="surrogatepass")) < LEAST_BYTES for each in identifiers
            ),
        },
        "result": summary(result),
        "found": [place._asdict() for place in result.places],
        "not_searched": [each._asdict() for each in result.unread],
        "register": {"entries": register[0], "hash": register[1]},
    }


def summary(result: SearchResult) -> str:
    """The result of a search in a sentence."""
    lacking = f"; {len(result.unread):,} files or identities could not be searched" if result.unread else ""
    if not result.places:
        return f"nothing was found{lacking}"
    times = sum(place.times for place in result.places)
    return f"found {times:,} times in {len(result.places):,} places{lacking}"


def sign(body: Mapping[str, Any], secret: bytes) -> bytes:
    """A signed certificate, as JSON.

    Args:
        body: what it says.
        secret: the private key.
    """
    key = Ed25519PrivateKey.from_private_bytes(secret)
    signature = key.sign(canonical(body)).hex()
    document = {"certificate": body, "public_key": public_key(secret), "signature": signature}
    return canonical(document, _INDENT) + b"\n"


def public_key(secret: bytes) -> str:
    """The public key of a private one, in hexadecimal digits."""
    return Ed25519PrivateKey.from_private_bytes(secret).public_key().public_bytes_raw().hex()


def verify(content: bytes, key: str) -> dict[str, Any]:
    """What a certificate says.

    Args:
        content: the certificate.
        key: the public key to verify it with, in hexadecimal digits.

    Raises:
        MillraceError: if it was not signed with the key's private one, or was changed.
    """
    try:
        document = parse_canonical(content.removesuffix(b"\n"), _INDENT)
        if not content.endswith(b"\n") or set(document) != {"certificate", "public_key", "signature"}:
            raise ValueError("it is no certificate")
        if document["public_key"] != key:
            raise _not_valid("it names another public key")
        public = Ed25519PublicKey.from_public_bytes(bytes.fromhex(key))
        signature = bytes.fromhex(document["signature"])
        if signature.hex() != document["signature"]:
            raise ValueError("its signature is spelled in another way")
        public.verify(signature, canonical(document["certificate"]))
    except (ValueError, TypeError, RecursionError):
        raise _not_valid("it is not as it was written") from None
    except InvalidSignature:
        raise _not_valid("its signature is of other content") from None
    return dict(document["certificate"])


def _not_valid(reason: str) -> MillraceError:
    return MillraceError(f"the certificate does not verify: {reason}", "Ask for the original file")
