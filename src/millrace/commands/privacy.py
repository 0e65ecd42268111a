"""`millrace privacy`: requests of persons, searches for their data, and certificates of these."""

import json
from datetime import datetime, timezone
from pathlib import Path
from typing import Annotated

import typer

from lakehouse.errors import MillraceError
from lakehouse.settings import Settings, load_settings

Users = Annotated[list[str] | None, typer.Option("--user", help="User id; may be given several times.")]
Visitors = Annotated[list[str] | None, typer.Option("--visitor", help="Visitor; may be given several times.")]
Also = Annotated[
    list[str] | None,
    typer.Option("--also", metavar="TEXT", help="Another text to find, as an email address."),
]
Topics = Annotated[
    list[str] | None,
    typer.Option("--topic", help="Kafka topic to search as well; may be given several times."),
]
Number = Annotated[str, typer.Argument(metavar="REQUEST", help="Number of a request, as 2026-0001.")]


def register(app: typer.Typer) -> None:
    """Add the group."""
    group = typer.Typer(
        help="Requests of persons, searches for their data, and signed certificates.", no_args_is_help=True
    )
    group.command("search")(search)
    group.command("open")(open_request)
    group.command("requests")(requests)
    group.command("close")(close)
    group.command("prove")(prove)
    group.command("verify")(verify)
    group.command("key")(key)
    app.add_typer(group, name="privacy")


def search(
    user: Users = None,
    visitor: Visitors = None,
    also: Also = None,
    topic: Topics = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Search all files of the home for a person's identifiers, in all encodings in use.

    Exit code 0: everything was searched and nothing was found; 1: something was found; 3: something could not
    be searched.
    """
    from millrace.operations import privacy_search
    from millrace.terminal.privacy import print_result

    settings = _allowed()
    person = privacy_search.person_of(settings, user or (), visitor or ())
    texts = _texts([*person.texts, *(also or ())])
    result = privacy_search.search(settings, texts, topic or ())
    print_result(result, len(texts), as_json)
    raise typer.Exit(1 if result.places else 3 if result.unread else 0)


def open_request(
    reference: Annotated[str, typer.Option(help="What it is known as elsewhere, as the number of a letter.")],
    user: Users = None,
    visitor: Visitors = None,
    received: Annotated[
        datetime | None, typer.Option(formats=["%Y-%m-%d"], help="Day on which it came, in UTC; else now.")
    ] = None,
) -> None:
    """Enter a person's request into the register, which keeps keyed hashes of the identities alone.

    The identities are printed once: they are needed for `millrace privacy prove`.
    """
    from millrace.operations.privacy_search import person_of
    from privacy.requests.register import Register

    settings = _allowed()
    person = person_of(settings, user or (), visitor or ())
    _texts(person.texts)
    now = datetime.now(timezone.utc)
    received_at = now if received is None else received.replace(tzinfo=timezone.utc)
    if received_at > now:
        raise MillraceError(f"{received_at:%Y-%m-%d} is not over yet", "Correct --received")
    opened = Register(settings.home).open(
        person.identities, reference, received_at, settings.privacy_deadline
    )
    for identity in person.identities:
        shared = " (shared with other users)" if identity.value in person.shared else ""
        typer.echo(f"--{identity.kind} {identity.value}{shared}", err=True)
    typer.echo(
        f"request {opened.id}, due on {opened.deadline:%Y-%m-%d}; keep these identities elsewhere", err=True
    )
    typer.echo(opened.id)


def requests(
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
) -> None:
    """List requests: when each came, its deadline and its state."""
    from millrace.terminal.privacy import print_requests
    from privacy.requests.register import Register

    print_requests(Register(_allowed().home).requests(), as_json)


def close(request: Number, reason: Annotated[str, typer.Option(help="Why, as: withdrawn.")]) -> None:
    """Close a request without a proof."""
    from privacy.requests.register import Register

    Register(_allowed().home).close(request, reason, datetime.now(timezone.utc))


def prove(
    request: Number,
    user: Users = None,
    visitor: Visitors = None,
    also: Also = None,
    topic: Topics = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="File of the certificate; else one in privacy/certificates/ of the home."
        ),
    ] = None,
) -> None:
    """Search for a request's identities, and write a signed certificate of what was found.

    Exit codes are those of `millrace privacy search`.
    """
    from millrace.operations.privacy_proof import write_proof

    settings = _allowed()
    result, file, line = write_proof(
        settings, request, user or (), visitor or (), also or (), topic or (), out
    )
    typer.echo(f"{line}: {file}")
    raise typer.Exit(1 if result.places else 3 if result.unread else 0)


def verify(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A certificate.")],
    public_key: Annotated[
        str | None,
        typer.Option(metavar="HEX", help="Key to verify with, elsewhere; else the home's, and its register."),
    ] = None,
) -> None:
    """Verify a certificate, and print what it says."""
    from millrace.operations.privacy_proof import verify_proof

    says = verify_proof(load_settings(), file, public_key)
    typer.echo(json.dumps(says, ensure_ascii=False, indent=1))


def key() -> None:
    """Print the public key that certificates of the home are verified with."""
    from privacy.certificates.certificate import public_key
    from privacy.keys import SigningKey

    typer.echo(public_key(SigningKey(_allowed().home).secret))


def _allowed() -> Settings:
    from millrace.tables.reading_role import require_privacy

    settings = load_settings()
    require_privacy(settings)
    return settings


def _texts(texts: list[str]) -> list[str]:
    if not texts or not all(texts):
        raise MillraceError("there is nothing to find", "Give --user or --visitor")
    return texts
