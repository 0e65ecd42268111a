"""`millrace erase`: erases everything of a person."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from lakehouse.errors import MillraceError
from lakehouse.settings import Settings, load_settings
from millrace.commands.privacy import Topics, Users, Visitors

if TYPE_CHECKING:
    from privacy.identities import Person

_FIRST = ("refine", "repair", "publish")


def erase(
    user: Users = None,
    visitor: Visitors = None,
    file: Annotated[
        Path | None,
        typer.Option(metavar="CSV", help="Many persons: columns kind (user or visitor) and value."),
    ] = None,
    request: Annotated[
        str | None,
        typer.Option(metavar="REQUEST", help="Number of a request, or of an erasure that was interrupted."),
    ] = None,
    requests: Annotated[
        str | None,
        typer.Option(
            metavar="TOPIC", help="Requests of a Kafka topic that are not done yet, one after the other."
        ),
    ] = None,
    expired: Annotated[
        bool, typer.Option("--expired", help="Who has sent no event for longer than conf/retention.yml says.")
    ] = False,
    reference: Annotated[str, typer.Option(help="What a new request is known as elsewhere.")] = "erasure",
    prove: Annotated[bool, typer.Option("--prove", help="Then search, and sign a certificate.")] = False,
    topic: Topics = None,
    from_kafka: Annotated[
        bool,
        typer.Option(
            "--from-kafka",
            help="Also delete from Kafka: in each partition, all records through the last erased one.",
        ),
    ] = False,
) -> None:
    """Erase everything of a person: from all tables, over all visitors of the person, and old versions.

    While `millrace up` runs, its engine does it between two micro-batches. An erasure that was interrupted is
    resumed with --request. Exit codes with --prove are those of `millrace privacy search`.
    """
    from millrace.operations.erasure_request import prepare_erasure, prepare_expired, read_identities
    from millrace.tables.reading_role import require_privacy
    from privacy.requests.register import Register

    settings = load_settings()
    require_privacy(settings)
    users, visitors = read_identities(file) if file else ([], [])
    users, visitors = [*users, *(user or ())], [*visitors, *(visitor or ())]
    if sum(map(bool, (expired, requests, request or users or visitors))) != 1:
        raise MillraceError(
            "there is nobody to erase, or more than one of persons, --requests and --expired",
            "Give --user, --visitor, --file or --request, or --requests, or --expired",
        )
    and_then = _Then(settings, prove, topic or (), from_kafka)
    if request and from_kafka:
        known = Register(settings.home).find(request)
        if known.was_erased and not known.is_erasing:
            _erase_from_kafka(settings, request)
            return
    if requests:
        raise typer.Exit(_erase_requests(settings, requests, and_then))
    if expired:
        found = prepare_expired(settings)
    else:
        found = prepare_erasure(settings, request, users, visitors, reference)
    if found is None:
        typer.echo("Nobody's retention is over.", err=True)
        return
    raise typer.Exit(_erase_one(*found, and_then))


class _Then(NamedTuple):
    """What follows an erasure; see the options of the command."""

    settings: Settings
    prove: bool
    topics: Sequence[str]
    from_kafka: bool


def _erase_requests(settings: Settings, topic: str, and_then: _Then) -> int:
    """Erase the persons of a topic's requests; the exit code is 1 if one of theirs is, else the highest."""
    from millrace.operations.erasure_request import prepare_erasure
    from millrace.operations.requests_topic import receive_requests

    codes = {0}
    for received in list(receive_requests(settings, topic)):
        problem = received.problem
        if not problem:
            try:
                found = prepare_erasure(settings, received.number, received.users, received.visitors, "")
                codes.add(_erase_one(*found, and_then))
            except MillraceError as error:  # others do not wait for it
                problem = str(error)
        if problem:
            typer.echo(f"{received.place}: {problem}", err=True)
            codes.add(1)
    return 1 if 1 in codes else max(codes)


def _erase_one(number: str, person: "Person", then: _Then) -> int:
    """Erase the persons of a request; returns the exit code."""
    from millrace.commands.release import carry_out
    from millrace.local.requests.engine_commands import ERASE

    typer.echo(f"request {number}: {len(person.identities):,} identities", err=True)
    carry_out(ERASE, number, first=_FIRST, then=["publish"])
    if then.from_kafka:
        _erase_from_kafka(then.settings, number)
    typer.echo(number)
    return _prove(then.settings, number, person, then.topics) if then.prove else 0


def _erase_from_kafka(settings: Settings, number: str) -> None:
    from millrace.operations.erase_from_kafka import erase_from_kafka
    from millrace.tables.table_scan import reading

    with reading(settings):
        ends = erase_from_kafka(settings, number)
    for (topic, partition), end in ends.items():
        typer.echo(f"Kafka: {topic}/{partition}: records before offset {end:,} deleted", err=True)


def _prove(settings: Settings, number: str, person: "Person", topics: Sequence[str]) -> int:
    from millrace.operations.privacy_proof import prove_erasure

    result, certificate, line = prove_erasure(settings, number, person, topics)
    typer.echo(f"{line}: {certificate}", err=True)
    return 1 if result.places else 3 if result.unread else 0
