"""Searches the tables of a catalog: all files of their folders, or the rows where files can't be read."""

import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from privacy.search.file_search import FileResult, search_file
from privacy.search.home_search import NAME, SearchResult
from privacy.search.matching.matcher import Matcher
from privacy.search.matching.values import find_in_values
from privacy.search.parquet_file import leaves, values_of
from privacy.search.places import Counts, Place

_HIDDEN = ("_delta_log", "_delta_log/_last_checkpoint", "_delta_log/_sidecars", "_change_data")
"""What Spark leaves out when it lists a table's folder."""

_OF_FILE = pa.schema(
    [
        pa.field("path", pa.string()),
        pa.field("size", pa.int64()),
        pa.field("sha256", pa.string()),
        pa.field("problem", pa.string()),
        pa.field("part", pa.string()),
        pa.field("encoding", pa.string()),
        pa.field("times", pa.int64()),
    ]
)
_OF_ROWS = pa.schema([_OF_FILE.field(name) for name in ("part", "encoding", "times")])

Search = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def search_catalog(
    spark: SparkSession, catalog: str, names: Iterable[str], identifiers: Sequence[str], result: SearchResult
) -> None:
    """Search tables, and add what is found to a result.

    Args:
        spark: a session.
        catalog: the catalog.
        names: tables, which need not exist.
        identifiers: texts to find.
        result: of the search of the home. Files of a table are named after the table.
    """
    for name in names:
        table = f"{catalog}.{name}"
        if not spark.catalog.tableExists(table):
            continue
        location = str(spark.sql(f"DESCRIBE DETAIL {table}").select("location").collect()[0][0])
        try:
            files = _files(spark, location)
        except PySparkException:  # the catalog gives nobody its files
            _search_rows(spark.table(table), name, identifiers, result)
        else:
            _search_files(files, location, name, identifiers, result)
    result.places.sort()


def _files(spark: SparkSession, location: str) -> DataFrame:
    """Path and content of all files of a table: of all versions, and of its log."""
    paths = [location, *(f"{location}/{each}" for each in _HIDDEN if _is_there(spark, f"{location}/{each}"))]
    return reduce(DataFrame.union, (_listed(spark, path) for path in paths))


def _is_there(spark: SparkSession, path: str) -> bool:
    try:
        _listed(spark, path)
    except AnalysisException as error:
        if "PATH_NOT_FOUND" in str(error):
            return False
        raise
    return True


def _listed(spark: SparkSession, path: str) -> DataFrame:
    reader = spark.read.format("binaryFile").option("recursiveFileLookup", "true")
    files = reader.load(path).select("path", "content")
    _ = files.schema  # Spark Connect looks for the files only now
    return files


def _search_files(
    files: DataFrame, location: str, table: str, identifiers: Sequence[str], result: SearchResult
) -> None:
    matcher = Matcher(identifiers)
    found = sorted(_collect(files, _searching_files(identifiers), _OF_FILE), key=itemgetter(0))
    for path, rows in groupby(found, key=itemgetter(0)):
        places = list(rows)
        _, size, sha256, problem, *_ = places[0]
        counts: Counts = Counter({(part, encoding): times for *_, part, encoding, times in places if times})
        name = f"{table}/{_relative(path, location)}"
        result.add(name, FileResult(size, sha256, counts, problem))
        named = Counter(match.encoding for match in matcher.find_in(name.encode()) if match.is_whole)
        result.places += [Place(name, NAME, encoding, times) for encoding, times in named.items()]


def _relative(path: str, location: str) -> str:
    """The path of a file from its table's folder; both are URIs, with one or three slashes."""
    file, folder = (uri.partition(":")[2].lstrip("/") for uri in (path, location))
    return file.removeprefix(folder).lstrip("/")


def _searching_files(identifiers: Sequence[str]) -> Search:
    """A function over path and content of files: a row for each place, at least one for each file."""

    def search(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        matcher = Matcher(identifiers)
        with tempfile.TemporaryDirectory() as folder:
            for batch in batches:
                for path, content in zip(batch["path"].to_pylist(), batch["content"], strict=True):
                    copy = Path(folder, path.rpartition("/")[2])
                    copy.write_bytes(content.as_buffer())
                    size, sha256, counts, problem = search_file(matcher, copy, lambda _: None)
                    copy.unlink()
                    places: list[tuple[Any, ...]] = [(*place, times) for place, times in counts.items()]
                    rows = [(path, size, sha256, problem, *each) for each in places or [(None, None, 0)]]
                    yield _batch(rows, _OF_FILE)

    return search


def _search_rows(rows: DataFrame, table: str, identifiers: Sequence[str], result: SearchResult) -> None:
    found: Counts = Counter()
    for part, encoding, times in _collect(rows, _searching_rows(identifiers), _OF_ROWS):
        found[part, encoding] += times
    result.rows[table] = rows.count()
    result.places += [Place(table, *place, times) for place, times in found.items()]


def _searching_rows(identifiers: Sequence[str]) -> Search:
    """A function over rows of a table: a row for each column and encoding in which something was found."""

    def search(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        matcher = Matcher(identifiers)
        found: Counts = Counter()
        for batch in batches:
            for name in batch.schema.names:
                for path, values in _texts(batch[name], name):
                    matches = find_in_values(matcher, values)
                    found.update((f"column {path}", each.encoding) for _, each in matches if each.is_whole)
        yield _batch([(*place, times) for place, times in found.items()], _OF_ROWS)

    return search


def _texts(array: pa.Array, name: str) -> Iterator[tuple[str, Iterable[bytes]]]:
    for path, leaf in leaves(array, name):
        if pa.types.is_string(leaf.type) or pa.types.is_binary(leaf.type):
            yield path, values_of(leaf)[0]


def _collect(rows: DataFrame, search: Search, schema: pa.Schema) -> list[Any]:
    """What a function returns for rows: few rows for each file or column."""
    return rows.mapInArrow(search, from_arrow_schema(schema)).collect()


def _batch(rows: Sequence[tuple[Any, ...]], schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema)
