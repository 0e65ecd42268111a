"""Resume tokens: a position, the ids of its tables, and a digest of the followed content, as text."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from lakehouse.errors import MillraceError
from serving.sources.row_changes import Position

_TOKEN = re.compile(r"([0-9a-f]{8})~(.+)")
_PART = re.compile(r"([a-z_]+\.[a-z_0-9]+):(-?\d{1,18}):([0-9a-f]*)")


def versions_in(token: str) -> dict[str, int]:
    """The versions by table in a resume token; empty if the text is not one."""
    whole = _TOKEN.fullmatch(token)
    parts = [_PART.fullmatch(part) for part in whole[2].split(",")] if whole else []
    return {part[1]: int(part[2]) for part in parts if part}


@dataclass(frozen=True)
class Subject:
    """The content of resume tokens, except the position.

    Args:
        digest: digest of the table or query with its conditions, and of the role.
        key: columns that identify a row; empty if none do.
        identities: first characters of the tables' ids, by table.
    """

    digest: str
    key: tuple[str, ...]
    identities: Mapping[str, str]

    def token(self, position: Position) -> str:
        """The resume token of a position."""
        parts = (f"{name}:{version}:{self.identities[name]}" for name, version in sorted(position.items()))
        return f"{self.digest}~{','.join(parts)}"

    def position(self, token: str) -> dict[str, int] | None:
        """The position in a token; None if the token is for other content, or a table was recreated.

        Raises:
            MillraceError: if the text is not a token.
        """
        whole = _TOKEN.fullmatch(token)
        parts = [_PART.fullmatch(part) for part in whole[2].split(",")] if whole else [None]
        if whole is None or not all(parts):
            raise MillraceError("the position can't be read", "Send it as it came, or none for a snapshot")
        found = [part.groups() for part in parts if part]
        if whole[1] != self.digest or {name: identity for name, _, identity in found} != self.identities:
            return None
        return {name: int(version) for name, version, _ in found}
