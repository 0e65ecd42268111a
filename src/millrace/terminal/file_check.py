"""Prints the result of checking a file of events."""

from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import Decimal

import typer

from millrace.clients.check_file import FileCheck
from millrace.clients.data_gaps import Gap
from millrace.explain.gap_kinds import KINDS

_MOST = 12
_EXAMPLE = "{role: goal, takes: {order_id: order_id, currency: currency}, money: [total]}"


def print_check(check: FileCheck) -> None:
    """Print events, roles, goals, channels and rejects, and fields that attribution needs but lacks."""
    if check.first and check.last:
        typer.echo(
            f"{check.events:,} event{'s'[: check.events != 1]} of {check.visitors:,} "
            f"visitor{'s'[: check.visitors != 1]}, "
            f"{check.first:%Y-%m-%d %H:%M} to {check.last:%Y-%m-%d %H:%M} UTC; {check.copies:,} copies"
        )
    else:
        typer.echo("No event in this file.")
    _section("roles", check.roles)
    _section("events", check.names)
    _goals(check.goals)
    _section("page views from elsewhere, by channel", check.channels)
    _section("rejected records", check.rejected, check.rejected_first)
    _section("lines that cannot be read", check.unreadable.reasons, check.unreadable.first)
    _lacks(check.gaps)
    for hint in _hints(check):
        typer.echo(f"\n{hint}")
    typer.echo("\nNothing was sent. Leave out --check to load the file.")


def _section(title: str, counts: Counter[str], first: Mapping[str, int] | None = None) -> None:
    if not counts:
        return
    typer.echo(f"\n{title}")
    for name, count in counts.most_common(_MOST):
        line = f"  first in line {first[name]:,}" if first else ""
        typer.echo(f"  {count:>12,}  {name}{line}")
    if len(counts) > _MOST:
        typer.echo(f"  {sum(counts.values()) - sum(n for _, n in counts.most_common(_MOST)):>12,}  others")


def _goals(goals: Mapping[tuple[str, str], tuple[int, Decimal]]) -> None:
    if goals:
        typer.echo("\ngoals")
    for (goal, currency), (count, value) in sorted(goals.items()):
        worth = f", {value:,.2f} {currency}" if value else ""
        typer.echo(f"  {count:>12,}  {goal}{worth}")


def _lacks(gaps: Sequence[Gap]) -> None:
    if gaps:
        typer.echo("\nwhat the file lacks, the costliest first")
    for gap in gaps:
        kind = KINDS[gap.kind]
        first = f", first in line {gap.line:,}" + (f": {gap.example}" if gap.example else "")
        typer.echo(f"  {gap.events:>12,}  {kind.what}{first}\n{'':>16}{kind.advice}")


def _hints(check: FileCheck) -> list[str]:
    hints = []
    if check.events and not check.goals:
        candidates = ", ".join(name for name, _ in check.unused.most_common(3))
        named = f"\nCandidates: {candidates}." if candidates else ""
        hints.append(
            "No event is a goal, so there will be no conversion and no attribution. Name one in "
            f"conf/roles.yml under `tracks`:\n  Name of the event: {_EXAMPLE}{named}"
        )
    if check.unused and check.goals:
        names = ", ".join(name for name, _ in check.unused.most_common(5))
        hints.append(f"Events without a rule in conf/roles.yml: {names}. They count as events of a session.")
    if check.events and not check.channels:
        hints.append(
            "No page has a campaign, a click id or a referrer of another host: all sessions will be Direct. "
            "Send `context.page.url` with its query, and `context.page.referrer`."
        )
    return hints
