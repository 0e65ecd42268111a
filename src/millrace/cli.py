"""The `millrace` command."""

import importlib
import logging
import pkgutil
import sys
from importlib import metadata
from typing import Annotated, NoReturn

import typer
from typer.exceptions import TyperException

from lakehouse.errors import MillraceError
from millrace import commands

app = typer.Typer(
    rich_markup_mode="markdown",
    name="millrace",
    help="An open lakehouse for behavioural events and attribution.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.callback(invoke_without_command=True)
def _main(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", is_eager=True)
    ] = False,
) -> None:
    if version:
        typer.echo(f"millrace {metadata.version('millrace')}")
        raise typer.Exit


def register_commands(to: typer.Typer = app) -> None:
    """Add the commands of `millrace.commands`: by `register` in a module, else its function of that name."""
    for name in sorted(found.name for found in pkgutil.iter_modules(commands.__path__)):
        module = importlib.import_module(f"{commands.__name__}.{name}")
        if register := getattr(module, "register", None):
            register(to)
        else:
            to.command()(getattr(module, name))


def main() -> None:
    """Run the command line. Expected errors are printed in one line, with a traceback only on request."""
    verbose = "--verbose" in sys.argv
    if verbose:
        sys.argv.remove("--verbose")
    # Libraries warn on every retry, py4j with a stack trace; users get one MillraceError.
    logging.getLogger().addHandler(logging.StreamHandler() if verbose else logging.NullHandler())
    register_commands()
    try:
        code = app(standalone_mode=False, prog_name=app.info.name)
    except TyperException as error:
        if not (line := error.format_message()):  # the help was shown
            raise SystemExit(error.exit_code) from None
        asked = getattr(error, "ctx", None)
        where = asked.command_path if asked else "millrace"
        _complain(f"{line.rstrip('.')}. See `{where} --help`.", error.exit_code)
    except typer.Abort:
        _complain("aborted")
    except MillraceError as error:
        if verbose:
            raise
        _complain(str(error))
    except ModuleNotFoundError:
        raise  # reported by the caller, which needs no packages
    except Exception as error:  # a bug: also one line, with how to see more
        if verbose:
            raise
        what = " ".join(str(error).split())[:300]
        _complain(f"unexpected {type(error).__name__}: {what}. Run it again with --verbose to see where.")
    raise SystemExit(code)


def _complain(line: str, code: int = 1) -> NoReturn:
    typer.secho(f"millrace: {' '.join(line.split())}", fg="red", err=True)
    raise SystemExit(code) from None
