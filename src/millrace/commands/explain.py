"""`millrace explain`: explains channels, conversions and bots."""

import json
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from lakehouse.errors import MillraceError
from lakehouse.settings import load_settings

if TYPE_CHECKING:
    from millrace.explain.channel import Reason

_WIDE = 140  # columns, if the terminal's width is unknown
_NO_PAGES = ("about:", "blob:", "data:", "file:")  # referrers that browsers send and that name no host


def register(app: typer.Typer) -> None:
    """Add the group: a command for each kind of thing."""
    explain = typer.Typer(help="Explain a conversion, a channel or a bot.", no_args_is_help=True)
    explain.command()(channel)
    explain.command()(conversion)
    explain.command()(user_agent)
    app.add_typer(explain, name="explain")


def channel(
    url: Annotated[str, typer.Argument(help="Address of the page.", metavar="URL")],
    referrer: Annotated[
        str, typer.Argument(help="Address of the page before.", metavar="REFERRER", show_default=False)
    ] = "",
    source: Annotated[str, typer.Option(help="Campaign's source; else utm_source of URL.")] = "",
    medium: Annotated[str, typer.Option(help="Campaign's medium; else utm_medium of URL.")] = "",
    campaign: Annotated[str, typer.Option(help="Campaign's name; else utm_campaign of URL.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Explain through which channel a visit came, and by which rule of conf/channels.yml."""
    from folds.records.channels import Visit, host_of
    from millrace.explain.channel import explain_channel

    for address in filter(None, (url, "" if referrer.lower().startswith(_NO_PAGES) else referrer)):
        if not host_of(address):
            raise MillraceError(f"no address of a page: {address}", "Give it whole, as https://shop.example/")
    sent = {"source": source, "medium": medium, "name": campaign}
    given = {field: value for field, value in sent.items() if value}
    visit = replace(Visit.of_addresses(url, referrer), **given)
    reason = explain_channel(load_settings().conf, visit)
    if as_json:
        typer.echo(json.dumps(reason.as_dict(), ensure_ascii=False))
    else:
        _print(reason)


def conversion(
    wanted: Annotated[
        str, typer.Argument(help="conversion_id or its beginning, order, or UID of the event.", metavar="ID")
    ],
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Explain what led to a conversion, and how each model splits its value."""
    from millrace.explain.conversion import explain_conversion
    from millrace.explain.render import as_dict, render
    from millrace.tables.table_scan import reading

    settings = load_settings()
    with reading(settings):
        story = explain_conversion(settings, wanted)
    if as_json:
        typer.echo(json.dumps(as_dict(story), ensure_ascii=False))
    else:
        width = None if sys.stdout.isatty() else _WIDE
        Console(highlight=False, markup=False, width=width).print(render(story, settings.reporting_currency))


def user_agent(
    text: Annotated[str, typer.Argument(help="User agent, as sent; empty for none.", metavar="TEXT")],
    library: Annotated[str, typer.Option(help="context.library.name of the event.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Explain whether a user agent is a bot's, and by which line of conf/bots.yml or conf/crawlers.yml."""
    from millrace.explain.user_agent import explain_user_agent

    reason = explain_user_agent(load_settings().conf, text, library or None)
    if as_json:
        typer.echo(json.dumps(reason.as_dict(), ensure_ascii=False))
    elif reason.is_bot:
        typer.echo(f"bot\n  by conf/{reason.file}, line {reason.line}: {reason.matched}")
    else:
        typer.echo("no bot\n  nothing in conf/bots.yml and conf/crawlers.yml matches it")


def _print(reason: "Reason") -> None:
    from folds.records.hosts import is_same_site

    inputs = reason.as_dict()["looked_at"]
    console = Console(soft_wrap=True, highlight=False, markup=False)
    console.print(reason.channel, style="bold")
    for because in reason.because:
        console.print(f"  because {because}")
    console.print(f"  by conf/channels.yml, line {reason.line}: {reason.rule}")
    console.print("looked at", style="dim")
    for name, value in inputs.items():
        is_own = name == "referrer_host" and is_same_site(value, inputs["page_host"])
        own = " (the page's own)" if is_own else ""
        console.print(f"  {name.replace('_', ' ')}: {value or 'none'}{own}")
