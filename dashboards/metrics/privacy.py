"""Requests of persons with their certificates, and how long data is kept; read from files of the home."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from pathlib import Path

import polars as pl

from lakehouse.contracts.ops import READS
from lakehouse.errors import MillraceError
from lakehouse.settings import Settings
from millrace.operations.privacy_proof import verify_proof
from privacy.erasure.retention import Retention
from privacy.keys import FOLDER
from privacy.requests.register import Request

OPEN = ("open", "erasing")
_TIME = pl.Datetime("us", "UTC")
_REQUESTS = {
    "request": pl.String,
    "reference": pl.String,
    "received_at": _TIME,
    "deadline": _TIME,
    "state": pl.String,
    "left": pl.String,
    "note": pl.String,
}
_CERTIFICATES = {
    "request": pl.String,
    "ended_at": _TIME,
    "result": pl.String,
    "files": pl.Int64,
    "valid": pl.String,
    "file": pl.String,
}


def requests(found: Iterable[Request], now: datetime) -> pl.DataFrame:
    """Requests, open ones first by deadline: request, reference, received_at, deadline, state, left, note."""
    ordered = sorted(found, key=lambda each: (each.state not in OPEN, each.deadline))
    rows = [
        (each.id, each.reference, each.received_at, each.deadline, each.state, _left(each, now), each.note)
        for each in ordered
    ]
    return pl.DataFrame(rows, _REQUESTS, orient="row")


def _left(request: Request, now: datetime) -> str:
    if request.state not in OPEN:
        return ""
    days = (request.deadline - now) // timedelta(days=1)
    return f"{days} days" if days >= 0 else "OVERDUE"


def certificates(settings: Settings) -> pl.DataFrame:
    """Certificates, the latest first: request, ended_at, result, files, valid (yes, or why not), file."""
    files = (settings.home / FOLDER / "certificates").glob("*.json")
    rows = [_certificate(settings, file) for file in files]
    return pl.DataFrame(rows, _CERTIFICATES, orient="row").sort("file", descending=True)


def _certificate(settings: Settings, file: Path) -> tuple[object, ...]:
    try:
        says = verify_proof(settings, file, None)
    except MillraceError as error:
        return (None, None, None, None, error.problem, file.name)
    searched = says["searched"]
    at = datetime.fromisoformat(searched["ended_at"].replace("Z", "+00:00"))
    return (says["request"]["id"], at, says["result"], searched["files"], "yes", file.name)


def kept(settings: Settings, retention: Retention) -> pl.DataFrame:
    """How long what is kept: what, span, set by."""
    rows = [
        ("persons without a new event", retention.persons, "persons in conf/retention.yml"),
        ("content of records in bronze", retention.records, "records in conf/retention.yml"),
        ("changes of tables", settings.feed_retention, "MILLRACE_FEED_RETENTION"),
        ("removed files of tables", settings.vacuum_retention, "MILLRACE_VACUUM_RETENTION"),
        ("queries of readers", READS.expiry[1] if READS.expiry else None, READS.name),
        ("time for a request", settings.privacy_deadline, "MILLRACE_PRIVACY_DEADLINE"),
    ]
    named = [(what, _span(span), by) for what, span, by in rows]
    return pl.DataFrame(named, {"what": pl.String, "span": pl.String, "by": pl.String}, orient="row")


def _span(span: timedelta | None) -> str:
    if span is None:
        return "without end"
    days, rest = divmod(span, timedelta(days=1))
    return f"{days} days" if days > 1 or not rest else str(span)
