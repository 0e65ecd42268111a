"""Shared by the benchmarks: a Spark session in a temporary home, progress output, result tables."""

import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession
from rich.console import Console
from rich.table import Table

from lakehouse.run.spark_session import build_session
from lakehouse.settings import Settings, load_settings
from millrace.environment.jars import spark_jars


@contextmanager
def application() -> Iterator[tuple[SparkSession, Settings]]:
    """A Spark session and settings for a new home, which is removed at the end."""
    with tempfile.TemporaryDirectory(prefix="millrace-bench-") as folder:
        settings = load_settings(home=Path(folder))
        spark = build_session(settings, spark_jars())
        try:
            yield spark, settings
        finally:
            spark.stop()


def progress(text: str) -> None:
    """Print progress to standard error."""
    print(text, file=sys.stderr, flush=True)


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table of results to standard output."""
    table = Table(title=title, title_justify="left")
    for number, column in enumerate(columns):
        table.add_column(column, justify="right" if number else "left", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    Console(width=None if sys.stdout.isatty() else 140).print(table)
