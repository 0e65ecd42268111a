"""`millrace erase`: erases everything of a person."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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
    from millrace.commands.release import carry_out
    from millrace.local.requests.engine_commands import ERASE
    from millrace.operations.erasure_request import prepare_erasure, prepare_expired, read_identities
    from millrace.tables.reading_role import require_privacy

    settings = load_settings()
    require_privacy(settings)
    users, visitors = read_identities(file) if file else ([], [])
    users, visitors = [*users, *(user or ())], [*visitors, *(visitor or ())]
    if expired == bool(request or users or visitors):
        raise MillraceError(
            "there is nobody to erase, or both persons and --expired",
            "Give --user, --visitor, --file or --request, or --expired",
        )
    if expired:
        found = prepare_expired(settings)
    else:
        found = prepare_erasure(settings, request, users, visitors, reference)
    if found is None:
        typer.echo("Nobody's retention is over.", err=True)
        return
    number, person = found
    typer.echo(f"request {number}: {len(person.identities):,} identities", err=True)
    carry_out(ERASE, number, first=_FIRST, then=["publish"])
    if from_kafka:
        _erase_from_kafka(settings, number)
    typer.echo(number)
    if prove:
        _prove(settings, number, person, topic or ())


def _erase_from_kafka(settings: Settings, number: str) -> None:
    from millrace.operations.erase_from_kafka import erase_from_kafka

    for (topic, partition), end in erase_from_kafka(settings, number).items():
        typer.echo(f"Kafka: {topic}/{partition}: records before offset {end:,} deleted", err=True)


def _prove(settings: Settings, number: str, person: "Person", topics: Sequence[str]) -> None:
    from millrace.operations.privacy_proof import write_proof

    users, visitors = sorted(person.users), sorted(person.visitors - person.users)
    result, certificate, line = write_proof(settings, number, users, visitors, (), topics, None)
    typer.echo(f"{line}: {certificate}", err=True)
    raise typer.Exit(1 if result.places else 3 if result.unread else 0)
