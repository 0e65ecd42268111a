"""Requests of persons that come by a Kafka topic: each is entered into the register once, by its id."""

import json
from collections.abc import Iterator
from datetime import datetime, timezone
from typing import Any, NamedTuple

from bronze.kafka import stored_records
from lakehouse.settings import Settings
from millrace.operations.privacy_search import person_of
from privacy.identities import SharedVisitorError
from privacy.requests.register import Register

_FORM = '{"id": "r-17", "user": "u-4711"}, where user and visitor are a text or a list of texts'


class Received(NamedTuple):
    """A request of the topic that is still to be done, or a record that is none.

    Args:
        place: topic, partition and offset of its record.
        number: in the register; empty of a record that is none.
        users: user ids.
        visitors: visitors.
        problem: why a record is no request, or can't be one; else empty.
    """

    place: str
    number: str = ""
    users: tuple[str, ...] = ()
    visitors: tuple[str, ...] = ()
    problem: str = ""


def receive_requests(settings: Settings, topic: str) -> Iterator[Received]:
    """Enter the requests of a topic that the register does not have, and yield all that are not done.

    A request is known by topic and id, which are its reference in the register. Of records with one id the
    last one counts, until the request is entered. The time of that record is when the request came.

    Args:
        settings: the settings in force.
        topic: the topic. Its records are read from the first one on, those of aborted transactions left out.

    Raises:
        MillraceError: if the topic can't be read, or the register was changed.
    """
    wanted: dict[str, tuple[datetime, Received]] = {}
    for record in stored_records(settings, topic, "read_committed"):
        place = f"{topic}/{record.partition}, offset {record.offset}"
        try:
            name, users, visitors = _parse(record.value)
        except (ValueError, RecursionError):
            yield Received(place, problem=f"no request: write {_FORM}")
        else:
            at = datetime.fromtimestamp(record.timestamp / 1000, timezone.utc)
            wanted[f"{topic}/{name}"] = at, Received(place, "", users, visitors)
    register = Register(settings.home)
    known = {each.reference: each for each in register.requests()}
    for reference, (at, received) in wanted.items():
        request = known.get(reference)
        if request is None:
            try:
                identities = person_of(settings, received.users, received.visitors).identities
            except SharedVisitorError:
                yield received._replace(problem="a visitor of several users: name the person with `user`")
                continue
            request = register.open(identities, reference, at, settings.privacy_deadline)
        if request.state == "erasing" or (request.state == "open" and not request.was_erased):
            yield received._replace(number=request.id)


def _parse(value: bytes | None) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """Id, user ids and visitors.

    Raises:
        ValueError: if the value is no request.
    """
    message = json.loads(value or b"")
    if not isinstance(message, dict) or not isinstance(message.get("id"), str) or not message["id"]:
        raise ValueError("there is no id")
    users, visitors = (_texts(message.get(name)) for name in ("user", "visitor"))
    if not (users or visitors):
        raise ValueError("there is nobody")
    return message["id"], users, visitors


def _texts(value: Any) -> tuple[str, ...]:
    if value is None:
        return ()
    values = value if isinstance(value, list) else [value]
    if not all(isinstance(each, str) and each.encode() for each in values):  # in UTF-8
        raise ValueError("an identity is no text")
    return tuple(values)
