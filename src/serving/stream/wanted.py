"""What a subscriber follows: a table, or a query."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from lakehouse.access.role import Role
from lakehouse.errors import MillraceError

TOKEN_DIGITS = 8


@dataclass(frozen=True)
class Wanted:
    """The table or query that a subscriber follows.

    Args:
        table: name of the table.
        sql: the query, instead of a table.
        where: conditions on rows of the table, by column.
        select: columns of the table to show in addition to its key; empty for all.
    """

    table: str | None = None
    sql: str | None = None
    where: Mapping[str, Any] = field(default_factory=dict)
    select: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check that there is either a table or a query.

        Raises:
            MillraceError: if there are none or both, or a query has `where` or `select`.
        """
        if (self.table is None) == (self.sql is None):
            raise MillraceError("give either a table or a query", "As an example: table=gold.traffic")
        if self.sql is not None and (self.where or self.select):
            raise MillraceError("where and select are for tables", "Write them in the query")

    def digest(self, role: Role) -> str:
        """A digest that is equal for equal content, which also depends on the reader's role."""
        asked = [role.fingerprint, self.table, self.sql, dict(self.where), self.select]
        return sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()

    def has_token(self, token: str, role: Role) -> bool:
        """Whether a resume token is for the same content."""
        return token.startswith(self.digest(role)[:TOKEN_DIGITS])

    @property
    def name(self) -> str:
        """The table or the query, for logs."""
        return self.table or " ".join((self.sql or "").split())[:80]
