"""Files of deletion vectors: which rows of data files are deleted (Delta's PROTOCOL.md)."""

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any
from uuid import UUID

_Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_CHARACTERS = 20  # of an encoded UUID
_BESIDE_TABLE = "u"  # storage type; others are in the log itself, or at an absolute path


def is_vector_file(path: str) -> bool:
    """Whether a file has deletion vectors."""
    name = PurePosixPath(path).name
    return name.startswith("deletion_vector_") and name.endswith(".bin")


def vector_files(descriptor: Mapping[str, Any]) -> Iterator[str]:
    """The path, from the table's folder, of the file that a `deletionVector` of the log names, if any.

    Raises:
        KeyError, ValueError, OverflowError: if the descriptor is not one of Delta's.
    """
    if descriptor["storageType"] == _BESIDE_TABLE:
        text = descriptor["pathOrInlineDv"]
        folder, code = text[:-_CHARACTERS], text[-_CHARACTERS:]
        yield f"{folder}/{_name(code)}".removeprefix("/")


def _name(code: str) -> str:
    digits = [_Z85.index(character) for character in code]
    groups = (digits[start : start + 5] for start in range(0, _CHARACTERS, 5))
    return f"deletion_vector_{UUID(bytes=b''.join(map(_decoded, groups)))}.bin"


def _decoded(group: list[int]) -> bytes:
    """Four bytes of five digits in base 85."""
    number = 0
    for digit in group:
        number = number * len(_Z85) + digit
    return number.to_bytes(4, "big")
