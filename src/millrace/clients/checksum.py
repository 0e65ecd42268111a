"""A checksum over records that does not depend on their order: the sum of their digests, modulo 2**64."""

from hashlib import md5

MODULUS = 1 << 64


def value_digest(value: bytes) -> int:
    """The digest of one record: the first 8 bytes, big endian, of the MD5 of its value."""
    return int.from_bytes(md5(value, usedforsecurity=False).digest()[:8], "big")


def as_hex(checksum: int) -> str:
    """A checksum as 16 hexadecimal digits."""
    return f"{checksum % MODULUS:016x}"
