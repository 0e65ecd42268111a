"""Worlds before and after an erasure: whose records are erased, and what the oracle expects then."""

import json
from collections.abc import Collection, Iterable
from pathlib import Path

import pyarrow.parquet as pq

from kit.oracle import Oracle, read_record
from kit.oracle_identities import persons_of
from kit.records import Stored

Uids = frozenset[str]


def erased_uids(stored: Iterable[Stored], users: Collection[str], visitors: Collection[str]) -> Uids:
    """UIDs of the events of some persons, by the oracle's own rules of identity.

    Args:
        stored: all records.
        users: user ids of the persons.
        visitors: visitors without a user id, who are persons of their own.
    """
    events = Oracle.over(stored).events
    persons = persons_of(events)
    return frozenset(
        event["event_id"]
        for event in events
        if persons[event["event_id"]] in {*users, *visitors} or event["user_id"] in users
    )


def without(stored: Iterable[Stored], uids: Uids, texts: Collection[str]) -> list[Stored]:
    """The records that stay: of other UIDs, and rejected ones of others, or that name none of the texts."""
    return [each for each in stored if not _is_erased(each, uids, texts)]


def oracle_without(stored: list[Stored], uids: Uids, texts: Collection[str]) -> Oracle:
    """The oracle of a world in which the persons never were, but for the watermark that they have moved."""
    oracle = Oracle.over(without(stored, uids, texts))
    oracle.watermark = Oracle.over(stored).watermark
    return oracle


def _is_erased(stored: Stored, uids: Uids, texts: Collection[str]) -> bool:
    read = read_record(stored) if stored.record.topic == "events" else None
    if read is None or read.heartbeat is not None or read.promise is not None:
        return False
    if not read.reason:
        return read.fields["event_id"] in uids
    if identities := {read.fields["user_id"], read.fields["visitor_id"]} - {None}:
        return not identities.isdisjoint(texts)
    return any(json.dumps(text).encode() in (stored.record.value or b"") for text in texts)


def files_with(home: Path, texts: Collection[str]) -> dict[str, str]:
    """By file of a home, the first of the texts that its bytes have, or its values if it is of Parquet."""
    found = {}
    for file in sorted(path for path in home.rglob("*") if path.is_file()):
        content = file.read_bytes()
        if content[:4] == b"PAR1":
            content += repr(pq.read_table(file).to_pylist()).encode()
        named = [text for text in texts if text.encode() in content]
        if named:
            found[str(file.relative_to(home))] = named[0]
    return found
