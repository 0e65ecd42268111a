"""`millrace referrers`: updates the list of referrers' hosts in conf/."""

import re
import subprocess
from pathlib import Path
from typing import Annotated

import typer

from lakehouse.errors import MillraceError
from lakehouse.settings import load_settings


def referrers(
    folder: Annotated[
        Path, typer.Argument(help="Copy of matomo-org/searchengine-and-social-list.", metavar="FOLDER")
    ],
    commit: Annotated[str, typer.Option(help="Its commit; else asked of Git.")] = "",
    date: Annotated[str, typer.Option(help="The commit's date, as 2026-07-15; else asked of Git.")] = "",
) -> None:
    """Update conf/referrers.yml from a newer list of search engines, social sites and AI assistants."""
    from millrace.operations.referrer_list import FILE, convert, render

    hosts = convert(folder)
    if not (commit and date):
        commit, date = _last_commit(folder)
    if not re.fullmatch(r"\d{4}-\d\d-\d\d", date) or not re.fullmatch("[0-9a-f]{7,40}", commit):
        raise MillraceError(
            f"{commit} of {date} is no commit and date", "Write them as 3b3a82d and 2026-07-15"
        )
    target = load_settings().conf / FILE
    before = target.read_text(encoding="utf-8").splitlines() if target.is_file() else []
    text = render(hosts, commit, date)
    target.write_text(text, encoding="utf-8")
    lines = {line for line in text.splitlines() if line.startswith("    - ")}
    old = {line for line in before if line.startswith("    - ")}
    counts = ", ".join(f"{len(entries):,} {kind}" for kind, entries in hosts.items())
    typer.echo(f"{target}: {counts}; {len(lines - old):,} new, {len(old - lines):,} gone")


def _last_commit(folder: Path) -> tuple[str, str]:
    """The last commit of a Git checkout.

    Raises:
        MillraceError: if the folder is not a Git checkout.
    """
    asked = ["git", "-C", str(folder), "log", "-1", "--format=%h %cs"]
    finished = subprocess.run(asked, capture_output=True, text=True, check=False)
    if finished.returncode or not (folder / ".git").exists():
        raise MillraceError(f"{folder} is no Git checkout", "Give --commit and --date of the list")
    short, _, day = finished.stdout.strip().partition(" ")
    return short, day
