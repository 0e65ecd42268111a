"""The parameters of a job's entry point: settings by name, and when to stop."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lakehouse.settings import FROM_ENVIRONMENT_ALONE, Settings

CONTINUOUS, AVAILABLE_NOW = "continuous", "available-now"


@dataclass(frozen=True)
class Parameters:
    """What an entry point was called with.

    Args:
        once: catch up and stop; else go on until stopped.
        settings: settings by name, as text; those that were left empty are not among them.
    """

    once: bool
    settings: dict[str, str]


def parse_parameters(job: str, does: str | None, argv: Sequence[str]) -> Parameters:
    """Read parameters of the form `--name=value`, where a name is that of a setting, or `trigger`.

    Args:
        job: name of the job.
        does: what it does, for the help.
        argv: the parameters. An empty value counts as not given, as a bundle's variable without one.

    Raises:
        SystemExit: for a parameter that is not known, and after the help.
    """
    given: dict[str, Any] = vars(_parser(job, does).parse_args(argv))
    trigger = given.pop("trigger") or CONTINUOUS
    return Parameters(trigger == AVAILABLE_NOW, {name: value for name, value in given.items() if value})


def _parser(job: str, does: str | None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=f"millrace-{job}", description=does, allow_abbrev=False)
    parser.add_argument(
        "--trigger",
        choices=(CONTINUOUS, AVAILABLE_NOW, ""),
        metavar=f"{{{CONTINUOUS},{AVAILABLE_NOW}}}",
        help=f"go on until stopped, or catch up and stop; {CONTINUOUS} by default",
    )
    for name, field in Settings.model_fields.items():
        if name in FROM_ENVIRONMENT_ALONE:
            continue
        spelled = dict.fromkeys((f"--{name}", f"--{name.replace('_', '-')}"))
        about = (field.description or "").replace("%", "%%")
        parser.add_argument(*spelled, dest=name, metavar="VALUE", help=about)
    return parser
