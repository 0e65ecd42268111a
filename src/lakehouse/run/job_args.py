"""Parameters of a job's entry point: settings, trigger, and the job's own."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from lakehouse.bundle_variables import FROM_ENVIRONMENT_ALONE
from lakehouse.settings import Settings

CONTINUOUS, AVAILABLE_NOW = "continuous", "available-now"


@dataclass(frozen=True)
class Parameter:
    """A parameter of one job.

    Args:
        name: as in `--name=value`.
        description: for the help.
        is_required: whether the job refuses to start without it.
    """

    name: str
    description: str
    is_required: bool = False


@dataclass(frozen=True)
class Parameters:
    """Parsed parameters of an entry point.

    Args:
        once: catch up and stop; else go on until stopped.
        settings: settings by name, as text, without empty ones.
        own: the job's own parameters, by name.
    """

    once: bool
    settings: dict[str, str]
    own: dict[str, str] = field(default_factory=dict)


def parse_parameters(job: str, does: str, argv: Sequence[str], own: Sequence[Parameter] = ()) -> Parameters:
    """Read parameters of the form `--name=value`: settings, `trigger`, and the job's own.

    Args:
        job: name of the job.
        does: what it does, for the help.
        argv: the parameters. An empty value, as of an unset bundle variable, counts as not given.
        own: the job's own parameters.

    Raises:
        SystemExit: for a parameter that is not known or is missing, and after the help.
    """
    parser = _parser(job, does, own)
    given: dict[str, Any] = {name: value for name, value in vars(parser.parse_args(argv)).items() if value}
    missing = [f"--{each.name}" for each in own if each.is_required and each.name not in given]
    if missing:
        parser.error(f"{' and '.join(missing)} must be given")
    trigger = given.pop("trigger", CONTINUOUS)
    names = {each.name for each in own}
    return Parameters(
        trigger == AVAILABLE_NOW,
        {name: value for name, value in given.items() if name not in names},
        {name: value for name, value in given.items() if name in names},
    )


class _OneLineParser(argparse.ArgumentParser):
    """Reports errors in one line, without the usage."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}. See {self.prog} --help\n")


def _parser(job: str, does: str, own: Sequence[Parameter]) -> argparse.ArgumentParser:
    parser = _OneLineParser(prog=f"millrace-{job}", description=does, allow_abbrev=False)
    for parameter in own:
        parser.add_argument(f"--{parameter.name}", metavar="VALUE", help=parameter.description)
    parser.add_argument(
        "--trigger",
        choices=(CONTINUOUS, AVAILABLE_NOW, ""),
        metavar=f"{{{CONTINUOUS},{AVAILABLE_NOW}}}",
        help=f"go on until stopped, or catch up and stop; {CONTINUOUS} by default",
    )
    for name, setting in Settings.model_fields.items():
        if name in FROM_ENVIRONMENT_ALONE:
            continue
        spelled = dict.fromkeys((f"--{name}", f"--{name.replace('_', '-')}"))
        about = (setting.description or "").replace("%", "%%")
        parser.add_argument(*spelled, dest=name, metavar="VALUE", help=about)
    return parser
