"""The `millrace` command."""

import importlib
import logging
import pkgutil
import sys

import typer

from lakehouse.errors import MillraceError
from millrace import commands

app = typer.Typer(
    name="millrace",
    help="An open lakehouse for behavioural events and attribution.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def register_commands() -> None:
    """Let every module of `millrace.commands` add what it offers."""
    for module in sorted(found.name for found in pkgutil.iter_modules(commands.__path__)):
        importlib.import_module(f"{commands.__name__}.{module}").register(app)


def main() -> None:
    """Run the command line: one line for an error a user can act on, a trace only when asked."""
    verbose = "--verbose" in sys.argv
    if verbose:
        sys.argv.remove("--verbose")
    # Libraries warn on every retry, py4j with a stack trace; what a user needs comes as one MillraceError.
    logging.getLogger().addHandler(logging.StreamHandler() if verbose else logging.NullHandler())
    register_commands()
    try:
        app(standalone_mode=True)
    except MillraceError as error:
        if verbose:
            raise
        _complain(str(error))
    except Exception as error:  # a fault of ours: still one line, and how to see more
        if verbose:
            raise
        what = " ".join(str(error).split())[:300]
        _complain(f"unexpected {type(error).__name__}: {what}. Run it again with --verbose to see where.")


def _complain(line: str) -> None:
    typer.secho(f"millrace: {line}", fg="red", err=True)
    raise SystemExit(1) from None
