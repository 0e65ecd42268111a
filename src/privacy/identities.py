"""Identities of a person: user ids and visitors, over all spans of silver.identities."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import polars as pl

from lakehouse.errors import MillraceError

Scan = Callable[[str], "pl.LazyFrame | None"]
"""Returns a table as a lazy frame; None if it does not exist."""

IDENTITIES = "silver.identities"


class Identity(NamedTuple):
    """A user id, or a visitor."""

    kind: Literal["user", "visitor"]
    value: str


@dataclass(frozen=True)
class Person:
    """A person's identities.

    Args:
        users: user ids.
        visitors: visitors whose events are, in some span, the person's.
        shared: those of the visitors who have other users too.
    """

    users: frozenset[str]
    visitors: frozenset[str]
    shared: frozenset[str] = frozenset()

    @property
    def identities(self) -> list[Identity]:
        """All identities, in order."""
        found = [Identity("user", each) for each in sorted(self.users)]
        return found + [Identity("visitor", each) for each in sorted(self.visitors - self.users)]

    @property
    def texts(self) -> list[str]:
        """The identifiers as texts."""
        return sorted(self.users | self.visitors)


def find_person(scan: Scan, users: Iterable[str], visitors: Iterable[str]) -> Person:
    """The person with some user ids, or with some visitors, which then stand for their user.

    Other visitors of the users are the same person; other users of the visitors are not.

    Args:
        scan: reads tables.
        users: known user ids.
        visitors: known visitors.

    Raises:
        MillraceError: if no user is given, and the visitors have several.
    """
    users, visitors = frozenset(users), frozenset(visitors)
    spans = scan(IDENTITIES)
    if spans is None:
        return Person(users, visitors | users)
    pairs = spans.select("visitor_id", "user_id")
    if not users:
        users = _values(pairs.filter(pl.col("visitor_id").is_in(list(visitors))), "user_id")
        if len(users) > 1:
            raise MillraceError(
                f"{' and '.join(sorted(visitors))} is of several users: {', '.join(sorted(users))}",
                "Name the person with --user",
            )
    visitors |= users | _values(pairs.filter(pl.col("user_id").is_in(list(users))), "visitor_id")
    others = pairs.filter(pl.col("visitor_id").is_in(list(visitors)) & ~pl.col("user_id").is_in(list(users)))
    return Person(users, visitors, _values(others, "visitor_id"))


def _values(rows: pl.LazyFrame, column: str) -> frozenset[str]:
    return frozenset(rows.select(pl.col(column).unique()).collect().to_series().to_list())
