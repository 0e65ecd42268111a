"""Resume tokens: a position with the identity of its tables, as text."""

import re
from collections.abc import Mapping

from lakehouse.errors import MillraceError
from serving.stream.row_changes import Position

_PART = re.compile(r"([a-z_]+\.[a-z_0-9]+):(-?\d{1,18}):([0-9a-f]*)")


def to_token(position: Position, identities: Mapping[str, str]) -> str:
    """A position as text: `table:version:identity`, joined by commas.

    Args:
        position: versions by table.
        identities: by table, what tells it from another one of the same name.
    """
    return ",".join(f"{name}:{version}:{identities[name]}" for name, version in sorted(position.items()))


def from_token(token: str) -> tuple[dict[str, int], dict[str, str]]:
    """Versions and identities by table.

    Raises:
        MillraceError: if the text is no token.
    """
    parts = [_PART.fullmatch(part) for part in token.split(",")]
    if not all(parts):
        raise MillraceError("the position can't be read", "Send it as it came, or none for a snapshot")
    found = [part.groups() for part in parts if part]
    return {name: int(version) for name, version, _ in found}, {name: who for name, _, who in found}
