"""Identities of a person: user ids and visitors, over all spans of silver.identities."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import narwhals as nw

from lakehouse.errors import MillraceError

Scan = Callable[[str], "nw.LazyFrame[Any] | None"]
"""Returns a table as a lazy frame, of polars or of Spark; None if it does not exist."""

IDENTITIES = "silver.identities"


Kind = Literal["user", "visitor"]


class Identity(NamedTuple):
    """A user id, or a visitor."""

    kind: Kind
    value: str


_KINDS: dict[str, Kind] = {"user_id": "user", "visitor_id": "visitor"}


class SharedVisitorError(MillraceError):
    """A visitor has several users, so that it stands for none of them; the text names all."""


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
        SharedVisitorError: if no user is given, and the visitors have several.
    """
    users, visitors = frozenset(users), frozenset(visitors)
    spans = scan(IDENTITIES)
    if spans is None:
        return Person(users, visitors | users)
    pairs = spans.select("visitor_id", "user_id")
    if not users:
        users = _values(pairs.filter(nw.col("visitor_id").is_in(list(visitors))), "user_id")
        if len(users) > 1:
            raise SharedVisitorError(
                f"{' and '.join(sorted(visitors))} is of several users: {', '.join(sorted(users))}",
                "Name the person with --user",
            )
    visitors |= users | _values(pairs.filter(nw.col("user_id").is_in(list(users))), "visitor_id")
    others = pairs.filter(nw.col("visitor_id").is_in(list(visitors)) & ~nw.col("user_id").is_in(list(users)))
    return Person(users, visitors, _values(others, "visitor_id"))


def find_people(scan: Scan, users: Iterable[str], visitors: Iterable[str]) -> Person:
    """Several persons as one: those with some user ids, and the users of some visitors.

    Raises:
        SharedVisitorError: if a visitor has several users, none of whom is given.
    """
    users, visitors = set(users), frozenset(visitors)
    spans = scan(IDENTITIES)
    if spans is not None:
        pairs = spans.filter(nw.col("visitor_id").is_in(list(visitors))).select("visitor_id", "user_id")
        named: dict[str, set[str]] = defaultdict(set)
        for visitor, user in pairs.unique().collect("pyarrow").iter_rows():
            named[visitor].add(user)
        for visitor, theirs in named.items():
            if len(theirs) > 1 and not users & theirs:
                raise SharedVisitorError(
                    f"{visitor} is of several users: {', '.join(sorted(theirs))}", "Name those to erase"
                )
            users |= theirs if len(theirs) == 1 else set()
    return find_person(scan, users, visitors)


def find_hashed(
    scan: Scan, select: Callable[[Any, str, Kind], Iterable[str]], is_shared: Callable[[str], bool]
) -> Person:
    """The person whose identities are known by hashes alone.

    Args:
        scan: reads tables.
        is_shared: whether a visitor is known to have other users too; it stands for none of them.
        select: returns values that are wanted, from the frame behind `scan` with one column, its name, and
            what its values are.
    """
    found: dict[Kind, set[str]] = {"user": set(), "visitor": set()}
    for table, columns in ((IDENTITIES, ("user_id", "visitor_id")), ("silver.events", ("visitor_id",))):
        if (rows := scan(table)) is None:
            continue
        for column in columns:
            kind = _KINDS[column]
            found[kind] |= set(select(rows.select(column).unique().to_native(), column, kind))
    if not found["user"]:
        found["visitor"] = {each for each in found["visitor"] if not is_shared(each)}
    return find_person(scan, found["user"], found["visitor"])


def _values(rows: "nw.LazyFrame[Any]", column: str) -> frozenset[str]:
    return frozenset(rows.select(column).unique().collect("pyarrow")[column].to_list())
