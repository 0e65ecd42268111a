"""`millrace erase`: erases everything of a person."""

from pathlib import Path
from typing import Annotated

import typer

from lakehouse.errors import MillraceError
from lakehouse.settings import load_settings
from millrace.commands.privacy import Topics, Users, Visitors

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
    from millrace.operations.erasure_request import prepare_erasure, read_identities
    from millrace.tables.reading_role import require_privacy

    settings = load_settings()
    require_privacy(settings)
    users, visitors = read_identities(file) if file else ([], [])
    users, visitors = [*users, *(user or ())], [*visitors, *(visitor or ())]
    if not request and not users and not visitors:
        raise MillraceError("there is nobody to erase", "Give --user, --visitor, --file or --request")
    number, person = prepare_erasure(settings, request, users, visitors, reference)
    typer.echo(f"request {number}: {len(person.identities):,} identities", err=True)
    carry_out(ERASE, number, first=_FIRST, then=["publish"])
    if from_kafka:
        from millrace.operations.erase_from_kafka import erase_from_kafka

        for place, end in erase_from_kafka(settings, number).items():
            typer.echo(f"Kafka: {place[0]}/{place[1]}: records before offset {end:,} deleted", err=True)
    typer.echo(number)
    if prove:
        from millrace.operations.privacy_proof import write_proof

        result, certificate, line = write_proof(
            settings,
            number,
            sorted(person.users),
            sorted(person.visitors - person.users),
            (),
            topic or (),
            None,
        )
        typer.echo(f"{line}: {certificate}", err=True)
        raise typer.Exit(1 if result.places else 3 if result.unread else 0)
