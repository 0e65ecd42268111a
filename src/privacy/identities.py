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


_KINDS: dict[str, Literal["user", "visitor"]] = {"user_id": "user", "visitor_id": "visitor"}


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

    @property
    def own_texts(self) -> list[str]:
        """The identifiers that nobody else has."""
        return sorted(self.users | (self.visitors - self.shared))


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


def find_people(scan: Scan, users: Iterable[str], visitors: Iterable[str]) -> Person:
    """Several persons as one: those with some user ids, and the users of some visitors.

    Raises:
        MillraceError: if a visitor has several users, none of whom is given.
    """
    users, visitors = set(users), frozenset(visitors)
    spans = scan(IDENTITIES)
    if spans is not None:
        pairs = spans.filter(pl.col("visitor_id").is_in(list(visitors)))
        named = pairs.group_by("visitor_id").agg(pl.col("user_id").unique()).collect()
        for visitor, theirs in named.iter_rows():
            if len(theirs) > 1 and not users & set(theirs):
                raise MillraceError(
                    f"{visitor} is of several users: {', '.join(sorted(theirs))}", "Name those to erase"
                )
            users |= set(theirs) if len(theirs) == 1 else set()
    return find_person(scan, users, visitors)


def find_hashed(scan: Scan, is_wanted: Callable[[Identity], bool]) -> Person:
    """The person whose identities are known by hashes alone.

    Args:
        scan: reads tables.
        is_wanted: whether an identity is one of them.
    """
    found: set[Identity] = set()
    for table, columns in ((IDENTITIES, ("user_id", "visitor_id")), ("silver.events", ("visitor_id",))):
        if (rows := scan(table)) is None:
            continue
        for column in columns:
            for batch in rows.select(pl.col(column).unique()).collect_batches():
                found |= set(filter(is_wanted, (Identity(_KINDS[column], each) for each in batch[column])))
    users, visitors = ({each.value for each in found if each.kind == kind} for kind in _KINDS.values())
    return find_person(scan, users, visitors)


def _values(rows: pl.LazyFrame, column: str) -> frozenset[str]:
    return frozenset(rows.select(pl.col(column).unique()).collect().to_series().to_list())
