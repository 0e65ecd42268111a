"""Bodies as clients and proxies send them: compressed or not, with a byte order mark, in another charset."""

import base64
import binascii
import re
import zlib

from folds.records.message import BYTE_ORDER_MARK
from intake.segment_requests import BadRequestError, TooLargeError

_GZIP = b"\x1f\x8b"
_NAMES_OF_GZIP = ("gzip", "x-gzip")
_FEW_BYTES, _MOST_RATIO = 64 << 10, 100
"""A body may be decompressed to so many bytes, or to so many times its size: events reach a ratio of 50."""
_HEAD = 64
"""Bytes that show what a body is."""
_CHARSET = re.compile(r';\s*charset\s*=\s*"?(iso-8859-\d{1,2}|windows-125\d)\b', re.ASCII | re.IGNORECASE)
_FORM = re.compile(rb"[A-Za-z0-9_.\[\]%+-]{1,40}=|--[\x21-\x7e]")
"""The start of a form: a name with `=`, or the boundary of its parts."""


def is_compressed(encoding: str, body: bytes) -> bool:
    """Whether a body is compressed as its Content-Encoding says.

    A proxy that decompresses a body may leave the header as it was, so JSON under `gzip` is taken as it is.

    Raises:
        BadRequestError: if the encoding is another one, or the body is neither gzip nor JSON.
    """
    name = encoding.strip().lower()
    if name in ("", "identity"):
        return False
    if name not in _NAMES_OF_GZIP:
        raise BadRequestError("Content-Encoding is neither gzip nor identity")
    if body.startswith(_GZIP):
        return True
    if _head(body)[:1] in (b"{", b"["):
        return False
    raise BadRequestError("the body is not gzip")


def decompressed(body: bytes, most: int) -> bytes:
    """The content of gzip.

    Args:
        body: gzip.
        most: maximum bytes of the content.

    Raises:
        BadRequestError: if it is damaged or cut off.
        TooLargeError: if the content is larger, or was compressed more than events can be.
    """
    most = min(most, max(_FEW_BYTES, _MOST_RATIO * len(body)))
    inflate = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    try:
        plain = inflate.decompress(body, most + 1)
    except zlib.error:
        raise BadRequestError("the body is not gzip") from None
    if len(plain) > most:
        raise TooLargeError(f"the body has more than {most:,} bytes once it is decompressed")
    if not inflate.eof:
        raise BadRequestError("the body's gzip is cut off")
    return plain


def json_text(body: bytes, content_type: str) -> bytes:
    """The JSON in a body, without a byte order mark, in UTF-8.

    The content type does not have to be that of JSON: `sendBeacon` sends `text/plain`, `curl -d` that of a
    form. A charset counts only where the body is not UTF-8.

    Raises:
        BadRequestError: if the body is gzip, a form, or in no known encoding.
    """
    body = body.removeprefix(BYTE_ORDER_MARK)
    if body.startswith(_GZIP):
        raise BadRequestError("the body is gzip, but Content-Encoding does not say so")
    if _FORM.match(_head(body)):
        raise BadRequestError("the body is a form: send its JSON as the whole body")
    if _is_utf8(body):
        return body
    try:
        if charset := _CHARSET.search(content_type):
            return body.decode(charset[1]).encode()
    except (LookupError, UnicodeDecodeError):
        pass
    raise BadRequestError("the body is not UTF-8, and Content-Type has no charset that it is in")


def read_pixel(data: str) -> bytes:
    """The body in a pixel's URL: base64 of JSON.

    Raises:
        BadRequestError: if it is not base64.
    """
    try:
        return base64.b64decode(data.encode() + b"=" * (-len(data) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise BadRequestError("data is not base64") from None


def _head(body: bytes) -> bytes:
    return body[:_HEAD].removeprefix(BYTE_ORDER_MARK).lstrip()


def _is_utf8(body: bytes) -> bool:
    try:
        return body.isascii() or bool(body.decode())
    except UnicodeDecodeError:
        return False
