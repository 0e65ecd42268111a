"""`millrace doctor`: checks what is missing or wrong on this machine."""

import json
from dataclasses import asdict
from typing import Annotated

import typer

from lakehouse.settings import load_settings


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="One JSON array, an object a check.")] = False,
) -> None:
    """Check what is missing or wrong on this machine, and print how to fix it."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from millrace.environment.check import CheckResult
    from millrace.environment.doctor import examine

    colours = {CheckResult.OK: "green", CheckResult.WARN: "yellow", CheckResult.FAIL: "red"}
    findings = examine(load_settings())
    failed = [finding.subject for finding in findings if finding.result is CheckResult.FAIL]
    if as_json:
        typer.echo(json.dumps([asdict(finding) | {"result": finding.result.value} for finding in findings]))
        raise typer.Exit(1 if failed else 0)
    table = Table("", "checked", "found", box=None, pad_edge=False)
    for finding in findings:
        sign = f"[{colours[finding.result]}]{finding.result.value}[/]"
        table.add_row(sign, finding.subject, escape(finding.seen))
        if finding.to_do:
            table.add_row("", "", f"[bold]→ {escape(finding.to_do)}[/]")
    Console(highlight=False).print(table)
    if failed:
        typer.echo(f"In the way: {', '.join(failed)}.")
        raise typer.Exit(1)
    typer.echo("Ready: make demo, or millrace up.")
