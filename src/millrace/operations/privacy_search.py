"""Searches a home, the tables of a catalog, and topics for a person's identifiers."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from lakehouse.contracts import TABLES
from lakehouse.settings import Settings
from millrace.tables import table_scan
from privacy.identities import Person, find_person
from privacy.search import home_search
from privacy.search.home_search import SearchResult, search_home
from privacy.search.matching.matcher import Matcher
from privacy.search.topic_search import Record, search_records


def person_of(settings: Settings, users: Sequence[str], visitors: Sequence[str]) -> Person:
    """The person with some identities, and all others that silver.identities knows."""
    with table_scan.reading(settings):
        return find_person(partial(table_scan.scan, settings), users, visitors)


def search(settings: Settings, texts: Sequence[str], topics: Sequence[str]) -> SearchResult:
    """Search all files of the home, the tables of a catalog, and topics.

    Raises:
        MillraceError: if a topic can't be read.
    """
    with _progress() as progress:
        result = search_home(settings.home, texts, progress)
    if settings.catalog:
        from lakehouse.run.job_session import get_or_start_session
        from privacy.search.catalog_search import search_catalog

        with get_or_start_session(settings) as spark:
            search_catalog(spark, settings.catalog, TABLES, texts, result)
    for topic in topics:
        count, places = search_records(Matcher(texts), f"topic {topic}", _records(settings, topic))
        result.topics[topic] = count
        result.places += places
    return result


def _records(settings: Settings, topic: str) -> Iterator[Record]:
    from bronze.kafka import stored_records

    for record in stored_records(settings, topic):
        yield Record(record.partition, record.key, record.value, tuple(record.headers))


@contextmanager
def _progress() -> Iterator[home_search.Progress]:
    """A bar on standard error, if that is a terminal."""
    console = Console(stderr=True)
    columns = (TextColumn("searching"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("searching", total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)
