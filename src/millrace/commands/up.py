"""`millrace up` and `millrace down`: start and stop the local workspace."""

from typing import Annotated

import typer

from folds.rule_numbers import load_rule_numbers
from folds.windows.window_rules import load_window_rules
from lakehouse.errors import MillraceError
from lakehouse.settings import Settings, load_settings


def register(app: typer.Typer) -> None:
    """Add both commands."""
    app.command()(up)
    app.command()(down)


def up(
    broker: Annotated[bool, typer.Option("--broker", help="Start only the broker.")] = False,
    foreground: Annotated[
        bool, typer.Option("--foreground", help="Run in the foreground until Ctrl-C.")
    ] = False,
    target: Annotated[str | None, typer.Option("--target", help="Target of bundle.yml.")] = None,
) -> None:
    """Start the local workspace: broker, the jobs of bundle.yml, dashboard.

    Continuous jobs run all the time, the others on their schedule. Prints what the bundle declares and a
    local workspace does not do.
    """
    from millrace.environment.download_progress import fetch_jars
    from millrace.environment.java import java_executable
    from millrace.local.foreground import run_in_foreground, start_detached
    from millrace.local.plan import Plan

    settings = load_settings(target=target)
    if broker and settings.kafka_bootstrap:
        raise MillraceError(
            f"no local broker is needed: MILLRACE_KAFKA_BOOTSTRAP is {settings.kafka_bootstrap}",
            "Unset it to use one of this machine",
        )
    if not broker:
        load_rule_numbers(settings.conf)  # refused here, not by a job later
    load_window_rules(settings.conf)
    java_executable()
    fetch_jars()
    if not broker:
        _name_unsupported(settings)
    plan = Plan(broker_only=broker)
    if foreground:
        run_in_foreground(settings, plan)
    else:
        start_detached(settings, plan)


def _name_unsupported(settings: Settings) -> None:
    from millrace.local.bundle.jobs import bundle_tree
    from millrace.local.bundle.unsupported import unsupported

    for part in sorted(unsupported(bundle_tree(settings))):
        typer.echo(f"Left out on this machine: {part}", err=True)


def down() -> None:
    """Stop the local workspace. The data stays."""
    from millrace.local.launch import end

    settings = load_settings()
    stopped = end(settings)
    if stopped:
        typer.echo(f"Stopped: {', '.join(stopped)}. The data stays in {settings.home}.")
    else:
        typer.echo(f"Nothing runs in {settings.home}.")
