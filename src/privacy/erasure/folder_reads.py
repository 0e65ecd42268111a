"""Queries of readers that name a person, in ops.reads of a folder; read and written without Spark."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

import polars as pl
from deltalake import DeltaTable

from privacy.erasure.reads import conditions
from privacy.search.matching.matcher import Matcher
from privacy.search.matching.values import find_in_values


def delete_folder_reads(folder: Path, texts: Sequence[str]) -> None:
    """Delete rows whose query names one of the texts. Idempotent.

    Args:
        folder: of ops.reads, which need not exist.
        texts: identifiers of the persons alone.
    """
    if not texts or not DeltaTable.is_deltatable(str(folder)):
        return
    for condition in conditions(_naming(folder, Matcher(list(texts)))):
        DeltaTable(folder).delete(condition)


def _naming(folder: Path, matcher: Matcher) -> Iterator[datetime]:
    reads = pl.scan_delta(str(folder)).select("read_at", "subject").drop_nulls()
    for batch in reads.collect_batches():
        matches = find_in_values(matcher, [text.encode() for text in batch["subject"].to_list()])
        yield from batch["read_at"][sorted({number for number, match in matches if match.is_whole})]
