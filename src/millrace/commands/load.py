"""`millrace load`: sends a file of real events to Kafka."""

from typing import Annotated

import typer

from lakehouse.errors import MillraceError
from lakehouse.settings import load_settings


def load(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The file; - for standard input.")],
    format_name: Annotated[
        str,
        typer.Option(
            "--format",
            help="segment (one JSON event a line), access-log, costs (of an ad platform), rates (exchange "
            "rates), or auto: by the file's first lines, of events alone.",
        ),
    ],
    site: Annotated[
        str | None,
        typer.Option(
            help="Host of an access log's lines that name none. Default: detected from the first lines."
        ),
    ] = None,
    account: Annotated[str | None, typer.Option(help="Account of a cost file that names none.")] = None,
    check: Annotated[
        bool,
        typer.Option("--check", help="Send nothing: show the file's events, goals and rejects."),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="With --check: one JSON object.")] = False,
) -> None:
    """Send a file of events, costs or exchange rates to Kafka, and write a manifest of what was sent.

    Lines that cannot be read are counted and kept, with their line numbers, under rejected/ in MILLRACE_HOME.
    """
    if format_name == "costs":
        _load_costs(file, account, check, as_json)
        return
    if format_name == "rates":
        _load_rates(file, check, as_json)
        return
    if check:
        _check(file, format_name, site, as_json)
        return
    if as_json:
        raise MillraceError("--json is of --check, which is not given", "Add --check")
    from millrace.clients.load_file import load_file

    loaded = load_file(load_settings(), file, format_name, site, on_recognized=_say_format)
    manifest, rejected = loaded.manifest, loaded.rejected
    rate = manifest.records / max(loaded.seconds, 1e-9)
    typer.echo(
        f"{manifest.records:,} records sent, {rejected.count:,} lines set aside, "
        f"{loaded.seconds:.1f} s, {rate:,.0f} records/s, manifest {manifest.path}"
    )
    if rejected.count:
        typer.echo(f"set aside: {rejected.summary()}, see {rejected.path}", err=True)
    if loaded.stopped:
        raise MillraceError(
            f"stopped with {manifest.records:,} records confirmed and {manifest.unconfirmed:,} unconfirmed",
            "Load the file again to send the rest: what arrives twice is dropped",
        )
    if not manifest.records:
        raise MillraceError(
            f"no line of {manifest.source} could be sent as {format_name}"
            + (f": {rejected.first_reason}" if rejected.count else ""),
            f"Look at {rejected.path}, or try another --format"
            if rejected.count
            else "Give a file with events",
        )


def _load_costs(file: str, account: str | None, check: bool, as_json: bool) -> None:
    from millrace.clients.costs.load_costs import check_costs, load_costs
    from millrace.terminal.cost_file import cost_file_json, describe_costs

    if check:
        found = check_costs(load_settings(), file, account)
        typer.echo(cost_file_json(found) if as_json else describe_costs(found))
        return
    if as_json:
        raise MillraceError("--json is of --check, which is not given", "Add --check")
    loaded = load_costs(load_settings(), file, account)
    typer.echo(
        f"{loaded.manifest.records:,} records sent: {describe_costs(loaded.file)}, "
        f"manifest {loaded.manifest.path}"
    )


def _load_rates(file: str, check: bool, as_json: bool) -> None:
    from millrace.clients.rates.load_rates import check_rates, load_rates
    from millrace.terminal.rate_file import describe_rates, rate_file_json

    if check:
        found = check_rates(load_settings(), file)
        typer.echo(rate_file_json(found) if as_json else describe_rates(found))
        return
    if as_json:
        raise MillraceError("--json is of --check, which is not given", "Add --check")
    loaded = load_rates(load_settings(), file)
    typer.echo(
        f"{loaded.manifest.records:,} records sent: {describe_rates(loaded.file)}, "
        f"manifest {loaded.manifest.path}"
    )


def _check(file: str, format_name: str, site: str | None, as_json: bool) -> None:
    from millrace.clients.check_file import check_file
    from millrace.local.process.state_files import one_line
    from millrace.terminal.file_check import print_check

    found = check_file(load_settings(), file, format_name, site)
    if found.taken_for:
        _say_format(found.taken_for)
    if as_json:
        typer.echo(one_line(found.as_dict()))
    else:
        print_check(found)


def _say_format(taken_for: str) -> None:
    typer.echo(f"taken for: {taken_for}", err=True)
