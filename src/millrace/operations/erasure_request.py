"""Prepares the erasure of a request: finds the identities, and writes them down until it has ended."""

import csv
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import Any

from lakehouse.errors import MillraceError
from lakehouse.settings import Settings
from millrace.tables import table_scan
from privacy.erasure.retention import FILE, find_expired, load_retention
from privacy.erasure.unfinished import unfinished
from privacy.erasure.work_folder import WorkFolder
from privacy.identities import Identity, Kind, Person, find_hashed, find_people, find_person
from privacy.requests.register import Register, Request

EXPIRED = "retention"
"""Reference of requests that conf/retention.yml makes."""

_KINDS = ("user", "visitor")


def prepare_erasure(
    settings: Settings, number: str | None, users: Sequence[str], visitors: Sequence[str], reference: str
) -> tuple[str, Person]:
    """Enter an erasure into the register, with its identities in a folder of the home.

    An erasure that was interrupted keeps its identities and the steps that are done. It is also resumed if
    its persons, or some of them, are given without its number.

    Args:
        settings: the settings in force.
        number: of a request; None: a new one is entered.
        users: user ids; with a request, they may be left out.
        visitors: visitors; the same.
        reference: of a new request.

    Returns:
        The number of the request, and the identities.

    Raises:
        MillraceError: if there are no identities, or they are not those of the request.
    """
    register = Register(settings.home)
    remove_ended(register, settings.home)
    if number and (folder := WorkFolder(settings.home, number)).is_there:
        person = folder.person()
        if {*users, *visitors} - {*person.texts}:
            raise MillraceError(
                f"request {number} is being erased, without some of these identities",
                f"Run `millrace erase --request {number}` first",
            )
        return number, person
    with table_scan.reading(settings):
        if number:
            request = register.find(number)
            person = _of_request(register, request, settings, users, visitors)
        else:
            person = find_people(partial(table_scan.scan, settings), users, visitors)
    return _enter(register, settings, number, person, reference)


def prepare_expired(settings: Settings) -> tuple[str, Person] | None:
    """Enter an erasure of persons whose retention is over; None if there are none.

    Raises:
        MillraceError: if persons are kept without end.
    """
    remove_ended(Register(settings.home), settings.home)
    kept = load_retention(settings.conf).persons
    if kept is None:
        raise MillraceError(
            "persons are kept without end", f"Set `persons` in {settings.conf / FILE}, as P730D"
        )
    with table_scan.reading(settings):
        person = find_expired(partial(table_scan.scan, settings), datetime.now(timezone.utc) - kept)
    if not person.identities:
        return None
    return _enter(Register(settings.home), settings, None, person, EXPIRED)


def remove_ended(register: Register, home: Path) -> None:
    """Remove the identities of erasures that had ended when their process was killed."""
    requests = {each.id: each for each in register.requests()}
    for number in unfinished(home):
        if number in requests and requests[number].was_erased and not requests[number].is_erasing:
            WorkFolder(home, number).remove()


def _enter(
    register: Register, settings: Settings, number: str | None, person: Person, reference: str
) -> tuple[str, Person]:
    if not person.identities:
        raise MillraceError("there is nobody to erase", "Give --user, --visitor or --file")
    for other in unfinished(settings.home):
        interrupted = WorkFolder(settings.home, other).person()
        if number is None and {*person.identities} <= {*interrupted.identities}:
            return other, interrupted
        if {*person.identities} & {*interrupted.identities}:
            raise MillraceError(
                f"request {other} is being erased, and has some of these identities",
                f"Run `millrace erase --request {other}` first",
            )
    now = datetime.now(timezone.utc)
    number = number or register.open(person.identities, reference, now, settings.privacy_deadline).id
    register.start_erasure(number, (Identity("visitor", each) for each in person.shared), now)
    WorkFolder(settings.home, number).start(person)
    return number, person


def _of_request(
    register: Register, request: Request, settings: Settings, users: Sequence[str], visitors: Sequence[str]
) -> Person:
    if request.was_erased:
        raise MillraceError(
            f"request {request.id} is erased already",
            "To erase what came later, open a new request; `millrace privacy prove` searches",
        )
    scan = partial(table_scan.scan, settings)
    given = [Identity("user", each) for each in users] + [Identity("visitor", each) for each in visitors]
    for identity in given:
        if register.hash_of(identity) not in request.identities:
            raise MillraceError(
                f"{identity.kind} {identity.value} is not of request {request.id}",
                "Give identities that `millrace privacy open` printed, or none",
            )
    if given:
        person = find_person(scan, users, visitors)
    else:
        select = partial(_hashed_in_catalog if settings.catalog else _hashed, register, request)
        person = find_hashed(
            scan, select, lambda each: register.hash_of(Identity("visitor", each)) in request.shared
        )
    for user in person.users:
        if register.hash_of(Identity("user", user)) not in request.identities:
            raise MillraceError(
                f"a visitor of request {request.id} is of a user who is not",
                "Name the person with --user, or open a request for that user",
            )
    return person


def _hashed(register: Register, request: Request, rows: Any, column: str, kind: Kind) -> Iterator[str]:
    """Values of which the register has the hash, from a frame of polars."""
    for batch in rows.collect_batches():
        yield from (
            each for each in batch[column] if register.hash_of(Identity(kind, each)) in request.identities
        )


def _hashed_in_catalog(
    register: Register, request: Request, rows: Any, column: str, kind: Kind
) -> Iterator[str]:
    """The same from a frame of Spark, which computes the hashes."""
    from privacy.erasure.hashed_values import with_hash

    yield from with_hash(rows, column, kind, register.secret, request.identities)


def read_identities(file: Path) -> tuple[list[str], list[str]]:
    """User ids and visitors of a CSV file with the columns `kind` (user or visitor) and `value`.

    Raises:
        MillraceError: if it can't be read, with the number of the line.
    """
    found: dict[str, list[str]] = {kind: [] for kind in _KINDS}
    try:
        with file.open(encoding="utf-8-sig", newline="") as lines:
            for number, row in enumerate(csv.DictReader(lines), start=2):
                if row.get("kind") not in found or not row.get("value"):
                    raise MillraceError(
                        f"{file}, line {number}, has no user and no visitor",
                        "Write a line `kind,value`, and lines as `user,u-4711`",
                    )
                found[row["kind"]].append(row["value"])
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise MillraceError(f"{file} can't be read: {error}", "Name a CSV file in UTF-8") from error
    return found["user"], found["visitor"]
