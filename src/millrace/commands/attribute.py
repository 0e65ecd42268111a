"""`millrace attribute`: applies attribution models to a file of channel paths."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from lakehouse.errors import MillraceError
from lakehouse.settings import load_settings


def attribute(
    paths: Annotated[
        Path, typer.Option(help='CSV with a header: path ("a > b > c"), conversions, value, nulls.')
    ],
    model: Annotated[str, typer.Option(help="A model's name; without it, all of them side by side.")] = "",
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object a model, a line each, instead of a table.")
    ] = False,
) -> None:
    """Print the credit that attribution models give to the channels of a file of paths.

    Models: first, last, last_non_direct, linear, position_based, time_decay, markov, shapley. Without
    --model, all of them side by side.
    """
    from folds.persons.models import ModelNumbers
    from folds.rule_numbers import load_rule_numbers
    from gold.rules.paths import PATH_MODELS, credit_channels
    from millrace.clients.path_csv import read_paths

    if model and model not in PATH_MODELS:
        raise MillraceError(f"there is no model {model!r}", f"The models are {', '.join(PATH_MODELS)}")
    read, numbers = read_paths(paths), ModelNumbers.of(load_rule_numbers(load_settings().conf))
    found = {name: credit_channels(name, read, numbers) for name in ([model] if model else PATH_MODELS)}
    if "time_decay" in found:
        typer.echo("A file of paths has no times: to time_decay all touches are equally old.", err=True)
    if as_json:
        for name, of in found.items():
            channels = [{"channel": channel, **vars(credit)} for channel, credit in of.items()]
            typer.echo(json.dumps({"model": name, "channels": channels}))
        return
    table = Table("channel", box=None, header_style="dim")
    for name in found:
        table.add_column(name, justify="right", overflow="fold")
    if model:
        table.add_column("value", justify="right")
    for channel in next(iter(found.values())):
        shares = [of[channel] for of in found.values()]
        shown = [f"{share.conversions:,.2f}" for share in shares]
        table.add_row(Text(channel), *shown, *([f"{shares[0].value:,.2f}"] if model else []))
    console = Console(soft_wrap=True)
    console.print(table)
    conversions = sum(path.conversions for path in read)
    console.print(f"Of {conversions:,.10g} conversions on {len(read):,} paths.", style="dim")
