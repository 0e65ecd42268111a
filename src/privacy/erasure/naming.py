"""Records that name a person in their bytes."""

from collections.abc import Callable, Iterable, Iterator, Sequence

import pyarrow as pa
from pyspark.sql import DataFrame

from privacy.search.matching.matcher import Matcher
from privacy.search.matching.values import find_in_values

_BATCH = 10_000  # rows that are searched at once


def naming(rows: DataFrame, texts: Sequence[str], column: str = "value") -> DataFrame:
    """Rows whose column has one of the texts, in any encoding of `millrace privacy search`.

    Args:
        rows: rows of a table.
        texts: the texts.
        column: the column, of bytes or of text.
    """
    return rows.mapInArrow(_searching(texts, column), rows.schema) if texts else rows.limit(0)


def _searching(
    texts: Sequence[str], column: str
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def search(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        matcher = Matcher(list(texts))
        for batch in batches:
            for start in range(0, batch.num_rows, _BATCH):
                yield _matching(batch.slice(start, _BATCH), matcher, column)

    return search


def _matching(batch: pa.RecordBatch, matcher: Matcher, column: str) -> pa.RecordBatch:
    values = [value or b"" for value in batch.column(column).cast(pa.binary()).to_pylist()]
    found = find_in_values(matcher, values)
    numbers = sorted({number for number, match in found if match.is_whole})
    return batch.take(pa.array(numbers, pa.int64()))
