"""`millrace token`: creates a token for a reader, and the line that declares it."""

import re
from datetime import datetime, timedelta, timezone
from typing import Annotated

import typer

from lakehouse.errors import MillraceError
from lakehouse.settings import load_settings

_DAYS = 365


def token(
    name: Annotated[str, typer.Argument(help="Who reads with it, as shop-bi.")],
    role: Annotated[str, typer.Option(help="Role of conf/access.yml.")],
    days: Annotated[int, typer.Option(min=1, max=36_500, help="Days until it expires.")] = _DAYS,
) -> None:
    """Make a token for reading by the API. It is printed once; conf/access.yml gets its SHA-256 alone.

    The token goes to standard output, the line to add to standard error.
    """
    from lakehouse.access.policy import load_policy
    from lakehouse.access.tokens import digest_of, make_token

    settings = load_settings()
    policy = load_policy(settings.conf, settings.home)
    policy.role(role)
    if not re.fullmatch("[A-Za-z0-9][A-Za-z0-9._-]{0,63}", name):
        raise MillraceError(f"{name!r} is no name of a token", "Take letters, digits, dots, - and _")
    if any(name == each.name for each in policy.tokens):
        raise MillraceError(f"there is a token {name}", "Take another name, or remove it first")
    made = make_token()
    expires = (datetime.now(timezone.utc) + timedelta(days=days)).date()
    entry = f'{{name: "{name}", token_sha256: "{digest_of(made)}", role: "{role}", expires: {expires}}}'
    typer.echo(f"Add to `tokens` in conf/access.yml:\n  - {entry}", err=True)
    typer.echo("The token, which is not shown again:", err=True)
    typer.echo(made)
