"""Sources of events: who may send, and from where. Read from conf/sources.yml."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from hmac import compare_digest
from ipaddress import ip_address
from pathlib import Path

import yaml

from lakehouse.errors import MillraceError

_FILE = "sources.yml"
_FIELDS = {"name", "key_sha256", "origins"}


@dataclass(frozen=True)
class Source:
    """A client or group of clients.

    Args:
        name: as `conf/sources.yml` has it.
        key_sha256: SHA-256 of its write key, as hexadecimal digits: keys themselves are not stored.
        origins: origins of web pages that may send with it; empty for any.
    """

    name: str
    key_sha256: str
    origins: tuple[str, ...] = ()


LOCAL = Source("local", "")
"""Who sends from this machine, while no source is declared."""


@dataclass(frozen=True)
class Sources:
    """The declared sources. Without any, only this machine may send, with any key."""

    declared: Sequence[Source] = ()

    def find(self, write_key: str | None, address: str | None, origin: str | None) -> Source | None:
        """The source of a request; None if it may not send.

        Args:
            write_key: the key that the request gives.
            address: IP address of the client.
            origin: the `Origin` header, which browsers set.
        """
        if not self.declared:
            return LOCAL if _is_loopback(address) else None
        digest = sha256((write_key or "").encode()).hexdigest()
        found = [source for source in self.declared if compare_digest(source.key_sha256, digest)]
        allowed = (source for source in found if not (origin and source.origins) or origin in source.origins)
        return next(allowed, None)


def load_sources(conf: Path) -> Sources:
    """Read conf/sources.yml; no sources if there is no file.

    Raises:
        MillraceError: if an entry is not as it should be.
    """
    file = conf / _FILE
    if not file.is_file():
        return Sources()
    document = yaml.safe_load(file.read_text(encoding="utf-8")) or {}
    return Sources(tuple(_source(entry) for entry in document.get("sources") or ()))


def _source(entry: object) -> Source:
    example = "Give each a name and key_sha256, the SHA-256 of its write key"
    if not isinstance(entry, dict) or not entry.keys() <= _FIELDS or not entry.get("name"):
        raise MillraceError(f"conf/{_FILE} has a source that is none: {entry!r}", example)
    digest = str(entry.get("key_sha256") or "").lower()
    if len(digest) != 64 or set(digest) - set("0123456789abcdef"):
        raise MillraceError(f"conf/{_FILE}: key_sha256 of {entry['name']} is no SHA-256", example)
    return Source(str(entry["name"]), digest, tuple(map(str, entry.get("origins") or ())))


def _is_loopback(address: str | None) -> bool:
    try:
        return ip_address(address or "").is_loopback
    except ValueError:
        return False
