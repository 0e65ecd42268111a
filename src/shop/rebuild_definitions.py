"""Rebuild definitions of the shop's tables, computed from bronze."""

from collections.abc import Callable

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lakehouse.contracts.bronze import KAFKA_RECORDS
from lakehouse.contracts.shop import REJECTED_CHANGES, SHOP_CHANGES, Dimension
from lakehouse.rows.grouped import rows_of_kind
from lakehouse.run.job import JobContext
from lakehouse.run.rebuild import TableDefinition, processed_through
from lakehouse.run.rules_version import rules_version
from lakehouse.run.side_topics import require_side_topics
from shop.change_parser import changes_of, parse_records, rejected_of
from shop.dimension_changes import TABLES, DimensionRules, dimension_changes
from shop.erased_changes import ErasedChanges
from shop.shop_file import load_shop_rules

_JOB = "dimensions"


def _parsed(run: JobContext, table: str) -> DataFrame:
    require_side_topics(run)
    upto = processed_through(run, _JOB, table)
    records = run.lake.read(KAFKA_RECORDS.name).where(F.col("ingested_at") <= F.lit(upto))
    records, erased = (
        records.where(F.col("topic") == run.settings.shop_changes_topic),
        ErasedChanges(run.lake),
    )
    return parse_records(records if erased.is_empty else erased.left_of(records))


def _versions_of(table: Dimension) -> Callable[[JobContext], DataFrame]:
    return lambda run: _versions(run, table)


def _versions(run: JobContext, table: Dimension) -> DataFrame:
    history = changes_of(_parsed(run, table.name))
    nothing = {each.name: run.lake.read(each.name).limit(0) for each in TABLES}
    conf = run.settings.conf
    rules = DimensionRules.of(load_shop_rules(conf), rules_version(conf))
    folded = dimension_changes(history, nothing, rules)
    return rows_of_kind(folded, table.short_name).select(*table.column_names)


DEFINITIONS = {
    SHOP_CHANGES.name: TableDefinition(lambda run: changes_of(_parsed(run, SHOP_CHANGES.name))),
    REJECTED_CHANGES.name: TableDefinition(lambda run: rejected_of(_parsed(run, REJECTED_CHANGES.name))),
    **{table.name: TableDefinition(_versions_of(table)) for table in TABLES},
}
"""Rebuild definitions by table. Each table comes after the tables that it is computed from."""
