"""Records that name a person: in their bytes, or as the one who has sent them."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

import pyarrow as pa
from pyspark.sql import DataFrame

from privacy.own_records import OwnRecords
from privacy.search.matching.matcher import Matcher
from privacy.search.matching.values import find_in_values

_BATCH = 10_000  # rows that are searched at once
_Find = Callable[[pa.RecordBatch], set[int]]


def naming(rows: DataFrame, texts: Sequence[str], column: str = "value") -> DataFrame:
    """Rows whose column has one of the texts, in any encoding of `millrace privacy search`.

    Args:
        rows: rows of a table.
        texts: the texts.
        column: the column, of bytes or of text.
    """
    return _found_by(partial(_in_column, texts, column), rows) if texts else rows.limit(0)


def own_records(rows: DataFrame, texts: Sequence[str], placeholders: frozenset[str]) -> DataFrame:
    """Records of events to erase, by `privacy.own_records.OwnRecords`.

    Args:
        rows: records, with `key` and `value`.
        texts: identifiers of the persons alone.
        placeholders: values that are no ids, in lower case.
    """
    return _found_by(partial(_of_person, texts, placeholders), rows) if texts else rows.limit(0)


def _found_by(prepare: Callable[[], _Find], rows: DataFrame) -> DataFrame:
    """Rows that a function finds, which is prepared once in each task."""

    def search(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        find = prepare()
        for batch in batches:
            for start in range(0, batch.num_rows, _BATCH):
                part = batch.slice(start, _BATCH)
                yield part.take(pa.array(sorted(find(part)), pa.int64()))

    return rows.mapInArrow(search, rows.schema)


def _in_column(texts: Sequence[str], column: str) -> _Find:
    matcher = Matcher(texts)

    def find(batch: pa.RecordBatch) -> set[int]:
        values = [value or b"" for value in batch.column(column).cast(pa.binary()).to_pylist()]
        return {number for number, match in find_in_values(matcher, values) if match.is_whole}

    return find


def _of_person(texts: Sequence[str], placeholders: frozenset[str]) -> _Find:
    own = OwnRecords(texts, placeholders)

    def find(batch: pa.RecordBatch) -> set[int]:
        keys, values = (batch.column(name).to_pylist() for name in ("key", "value"))
        return own.to_erase(zip(keys, values, strict=True))

    return find
