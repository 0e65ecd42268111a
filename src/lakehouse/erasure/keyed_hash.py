"""Keyed hashes of UIDs and identities: erased ones are known by these alone."""

import hmac
from pathlib import Path

from pyspark.sql import Column
from pyspark.sql import functions as F

from lakehouse.access.mask_key import HomeKey
from lakehouse.errors import MillraceError

UID, USER, VISITOR, ROW = "uid", "user", "visitor", "row"
"""Kinds of values, which are part of what is hashed."""

_BLOCK = 64  # bytes of a block of SHA-256


class ErasureKey(HomeKey):
    """The key of the hashes in ops.erased_records and ops.erased_identities."""

    folder, name = "privacy", "erasure.key"
    loss = "copies of erased records are taken for new ones"

    def require(self) -> bytes:
        """The key, which has to exist once anything was erased.

        Raises:
            MillraceError: if it is lost.
        """
        if not self.is_there:
            raise MillraceError(
                f"{self._file} is lost, and erased records are known by hashes with that key",
                "Restore it from a backup: without it, copies of erased records can't be recognized",
            )
        return self.secret


class KeyedHash:
    """HMAC-SHA256 of texts, as Spark and as Python compute it.

    Args:
        key: the key, of at most 64 bytes.
    """

    def __init__(self, key: bytes) -> None:
        self._key = key

    @classmethod
    def of_home(cls, home: Path) -> "KeyedHash":
        """With the home's key, which is created on first use."""
        return cls(ErasureKey(home).secret)

    def column(self, kind: str, text: Column) -> Column:
        """The hash of a column of texts; null where that is null."""
        message = F.concat(F.lit(kind.encode() + b"\0"), text.cast("binary"))
        inner, outer = (bytes(each ^ pad for each in self._key.ljust(_BLOCK, b"\0")) for pad in (0x36, 0x5C))
        return _sha256(F.concat(F.lit(outer), _sha256(F.concat(F.lit(inner), message))))

    def of(self, kind: str, text: str) -> bytes:
        """The hash of a text."""
        return hmac.digest(self._key, f"{kind}\0{text}".encode(errors="surrogatepass"), "sha256")


def _sha256(content: Column) -> Column:
    return F.unhex(F.sha2(content, 256))
