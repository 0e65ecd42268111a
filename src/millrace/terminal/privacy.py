"""Prints results of searches for a person's identifiers, and requests."""

import json
from collections.abc import Iterable

import polars as pl
import typer

from lakehouse.timestamps import rfc3339
from millrace.terminal.rows import print_rows
from privacy.certificates.certificate import summary
from privacy.requests.register import Request
from privacy.search.home_search import SearchResult


def print_result(result: SearchResult, identifiers: int, as_json: bool) -> None:
    """Print the places, and what was searched."""
    if as_json:
        typer.echo(
            json.dumps(
                {
                    "identifiers": identifiers,
                    "files": result.files,
                    "bytes": result.size,
                    "sha256_of_files": result.sha256,
                    "topics": result.topics,
                    "found": [place._asdict() for place in result.places],
                    "not_searched": [each._asdict() for each in result.unread],
                },
                ensure_ascii=False,
            )
        )
        return
    if result.places:
        print_rows(pl.DataFrame(result.places, schema=["file", "part", "encoding", "times"], orient="row"))
    for each in result.unread:
        typer.echo(f"not searched: {each.file}: {each.reason}")
    topics = "".join(f", {count:,} records of topic {name}" for name, count in result.topics.items())
    where = f"{result.files:,} files, {result.size:,} bytes{topics}"
    typer.echo(f"{summary(result)} ({identifiers} identifiers; {where})")


def print_requests(requests: Iterable[Request], as_json: bool) -> None:
    """Print requests, the oldest first."""
    rows = [
        {
            "request": each.id,
            "reference": each.reference,
            "received": rfc3339(each.received_at),
            "deadline": rfc3339(each.deadline),
            "state": each.state,
            "identities": len(each.identities),
            "note": each.note,
        }
        for each in requests
    ]
    if as_json:
        for row in rows:
            typer.echo(json.dumps(row, ensure_ascii=False))
    elif rows:
        print_rows(pl.DataFrame(rows))
    else:
        typer.echo("No requests.")
