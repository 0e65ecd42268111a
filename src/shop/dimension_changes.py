"""Changes of dimensions: the history of rows that new changes affect, compared with the known versions."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from folds.shop.dimension_rows import DimensionFold, SentChange
from lakehouse.contracts.shop import DIMENSIONS, Dimension
from lakehouse.delta.write_changes import as_tuples, change_type
from lakehouse.rows.checkpointing import checkpoint
from lakehouse.rows.grouped import GroupedRows, batch_of_kind, map_groups, with_key
from lakehouse.rows.row_changes import RowDiff
from lakehouse.rows.semi_join import semi_join
from shop.shop_file import ShopRules

TABLES = tuple(DIMENSIONS.values())
CHANGES = pa.schema([pa.field(table.short_name, change_type(table)) for table in TABLES])

_TABLE = ("source", "source_table")


@dataclass(frozen=True)
class DimensionRules:
    """Which table becomes which dimension.

    Args:
        dimensions: the dimension's name by source and table.
        folds: the fold by source and table.
    """

    dimensions: Mapping[tuple[str, str], str]
    folds: Mapping[tuple[str, str], DimensionFold]

    @classmethod
    def of(cls, rules: ShopRules, version: str) -> "DimensionRules":
        """From conf/shop.yml and the version of the rules."""
        mapped = {
            (name, table): each
            for name, source in rules.sources.items()
            for table, each in source.tables.items()
        }
        folds = {
            place: DimensionFold(_columns(DIMENSIONS[f"silver.{each.dimension}"], each.columns), version)
            for place, each in mapped.items()
        }
        return cls({place: each.dimension for place, each in mapped.items()}, folds)


def affected_rows(new: DataFrame, history: DataFrame, has_truncates: bool) -> DataFrame:
    """`row_hash` of rows with new changes, and of all rows of a table with a new truncate.

    Args:
        new: rows of silver.shop_changes. Checkpointed.
        history: silver.shop_changes.
        has_truncates: whether one of the new rows is a truncate.
    """
    changed = new.where("row_key IS NOT NULL").select("row_hash")
    if not has_truncates:
        return changed
    truncated = F.broadcast(new.where("row_key IS NULL").select(*_TABLE).distinct())
    of_tables = history.where("row_key IS NOT NULL").join(truncated, list(_TABLE), "left_semi")
    return checkpoint(changed.union(of_tables.select("row_hash")).distinct())


def dimension_changes(
    history: DataFrame, known: Mapping[str, DataFrame], rules: DimensionRules, rows: DataFrame | None = None
) -> DataFrame:
    """Recompute the versions of rows, and compare them with the known ones.

    Args:
        history: silver.shop_changes.
        known: dimensions by name.
        rules: which table becomes which dimension.
        rows: `row_hash` of the rows; None: all.

    Returns:
        `CHANGES`: a struct of `change_type` for each dimension, of which one is not null; not computed yet.
    """
    of_rows = history.where("row_key IS NOT NULL")
    if rows is not None:
        of_rows = semi_join(of_rows, rows, "row_hash")
        known = {name: _known_of(frame, rows) for name, frame in known.items()}
    keys = of_rows.select(*_TABLE, "row_key").distinct()
    truncates = F.broadcast(history.where("row_key IS NULL").drop("row_key"))
    of_all = keys.join(truncates, list(_TABLE))
    kinds = {
        "sent": with_key(of_rows, _key(), SentChange._fields),
        "of_all": with_key(of_all, _key(), SentChange._fields),
    }
    for table in TABLES:
        kinds[table.short_name] = with_key(known[table.name], _key(), table.column_names)
    return map_groups(kinds, partial(_fold, rules=rules), CHANGES)


def _known_of(dimension: DataFrame, rows: DataFrame) -> DataFrame:
    key_hash = F.xxhash64("source", "source_table", "row_key")
    return semi_join(dimension.withColumn("row_hash", key_hash), rows, "row_hash")


def _key() -> Column:
    return F.to_json(F.array("source", "source_table", "row_key"))


def _columns(
    table: Dimension, mapped: Mapping[str, tuple[str, ...]]
) -> dict[str, tuple[str, tuple[str, ...]]]:
    types = {column.name: column.type for column in table.columns}
    return {name: (types[name], mapped.get(name, ())) for name in table.attributes}


def _fold(groups: GroupedRows, rules: DimensionRules) -> Iterator[pa.RecordBatch]:
    sent, of_all = groups.rows("sent", SentChange), groups.rows("of_all", _truncate)
    computed: dict[str, dict[object, list[tuple[object, ...]]]] = {table.short_name: {} for table in TABLES}
    for key, changes in sent.items():
        place = (changes[0].source, changes[0].source_table)
        if place in rules.folds:
            rows = rules.folds[place](str(changes[0].row_key), [*changes, *of_all.get(key, ())])
            computed[rules.dimensions[place]][key] = rows
    for table in TABLES:
        known, diff = groups.rows(table.short_name, tuple), RowDiff(table)
        after = computed[table.short_name]
        changes = [
            change
            for key in known.keys() | after.keys()
            for change in diff.compare(known.get(key, ()), after.get(key, ()))
        ]
        if changes:
            yield batch_of_kind(CHANGES, table.short_name, as_tuples(changes))


def _truncate(*values: object) -> SentChange:
    return SentChange(*values)._replace(row_key=None)  # type: ignore[arg-type]
