"""`millrace demo`: runs the whole workspace with sample traffic."""

import sys
from contextlib import redirect_stdout
from typing import Annotated

import typer

from folds.rule_numbers import load_rule_numbers
from folds.windows.window_rules import load_window_rules
from lakehouse.errors import MillraceError
from lakehouse.settings import Settings, load_settings

_HOURS = 24.0
_RATE = 2.0
_ONCE = 50_000
_COLLECTOR_PORT = 8787
_API_PORT = 8789


def demo(
    events: Annotated[
        int | None,
        typer.Option(help=f"Sample events, with --once. Default: {_ONCE:,}. Else: history of about so many."),
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="Catch up, print the summary, stop.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="With --once: the summary as last line.")] = False,
    rate: Annotated[
        float, typer.Option(help="Sample events a second, in history and live: the mean of a day.")
    ] = _RATE,
    history: Annotated[float, typer.Option(help="Hours of history before live traffic.")] = _HOURS,
) -> None:
    """Start a broker, sample traffic, all jobs and the dashboard, until Ctrl-C.

    The collector serves a small shop to click through: its visits appear on the dashboard, too. The
    streaming API serves a live page of today's figures.

    The traffic of the last 24 hours is sent first, then live traffic at the same rate. The data stays:
    the next start continues with live traffic. With --once, send the events, process them, print
    rows and timings, and end; the same number of events again adds nothing.
    """
    if events is not None and events < 1:
        raise MillraceError(f"{events} events are none", "Give --events 1 or more")
    if as_json and not once:
        raise MillraceError("--json is the summary of --once, which is not given", "Add --once")
    if not 0 < rate < float("inf"):
        raise MillraceError(f"a rate of {rate} events a second can't be kept", "Give one above 0")
    if not 0 <= history < float("inf"):
        raise MillraceError(f"a history of {history} hours can't be made", "Give 0 or more")
    settings = load_settings()
    load_rule_numbers(settings.conf)  # refused here, not by a job later
    load_window_rules(settings.conf)
    if once:
        _once(settings, events or _ONCE, as_json)
    else:
        _stay(settings, events / rate / 3600 if events else history, rate)


def _once(settings: Settings, events: int, as_json: bool) -> None:
    from rich.console import Console

    from millrace.local.demo_once import catch_up, print_summary
    from millrace.local.process.state_files import one_line

    # With --json, standard output has one line; other output goes to standard error.
    with redirect_stdout(sys.stderr if as_json else sys.stdout):
        _make_ready()
        summary = catch_up(settings, events)
        print_summary(summary, Console(stderr=as_json, highlight=False))
    if as_json:
        typer.echo(one_line(summary))


def _stay(settings: Settings, history: float, rate: float) -> None:
    from millrace.local.demo_shop import choose_port
    from millrace.local.demo_traffic import history_is_sent
    from millrace.local.foreground import run_in_foreground
    from millrace.local.plan import Plan
    from millrace.local.postgres_server import programs
    from millrace.local.process.ports import is_free, stable_port
    from millrace.local.status.demo import draw
    from millrace.local.status.poll import watch

    if programs() is None:
        typer.echo("PostgreSQL is not installed, so the sample shop has no database of its own: docs/shop.md")
    _make_ready()
    settings.trust_local = True  # the shop and the live page are for this machine
    if settings.collector_port is None:
        settings.collector_port = _COLLECTOR_PORT if is_free(_COLLECTOR_PORT) else stable_port()
    if settings.api_port is None:
        settings.api_port = _API_PORT if is_free(_API_PORT) else stable_port()
    wanted = 0 if history_is_sent(settings.home) else history
    plan = Plan(history=wanted, rate=rate, shop_port=choose_port(settings))
    by_signal = run_in_foreground(
        settings, plan, lambda is_running: watch(settings, is_running, draw, lag=False)
    )
    typer.echo("Stopped." if by_signal else "It was stopped from outside.")
    typer.echo(
        f"The data stays in {settings.home}: `millrace demo` goes on where it was, `millrace audit` checks "
        "that nothing is lost, `millrace reset` removes it."
    )


def _make_ready() -> None:
    from millrace.environment.download_progress import fetch_jars
    from millrace.environment.java import java_executable

    java_executable()
    fetch_jars()
