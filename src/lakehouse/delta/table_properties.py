"""Delta properties of new tables; docs/decisions/0002 has the reasons."""

from datetime import timedelta

from lakehouse.contracts import LOCKS, Table
from lakehouse.contracts.table import LOG_ENTRIES, TWO_WRITERS_LOG
from lakehouse.maintenance.retention import in_hours

REMOVED_FILES = "delta.deletedFileRetentionDuration"
FEED = "delta.enableChangeDataFeed"
STATISTICS = "delta.dataSkippingStatsColumns"

_WITH_STATISTICS = ("timestamp", "date", "bigint", "int", "double", "decimal")


def default_properties(removed_files: timedelta, feed: timedelta) -> dict[str, str]:
    """Properties of every new table. Delta validates them in a statement, but not as session defaults.

    Args:
        removed_files: minimum retention of removed files.
        feed: how long changes can be read.
    """
    return {
        "delta.checkpointInterval": "100",
        LOG_ENTRIES: in_hours(feed),
        "delta.enableDeletionVectors": "false",
        REMOVED_FILES: in_hours(max(removed_files, feed)),
    }


def retention_properties(table: Table, removed_files: timedelta, feed: timedelta) -> dict[str, str]:
    """Retention of removed files; in silver and gold, of log entries too: the change feed needs both.

    Args:
        table: its contract.
        removed_files: minimum retention of removed files of every table.
        feed: how long changes can be read.
    """
    if table.layer not in LOCKS:
        return {REMOVED_FILES: in_hours(removed_files)}
    log = max(feed, TWO_WRITERS_LOG) if LOG_ENTRIES in table.properties else feed
    return {REMOVED_FILES: in_hours(max(removed_files, feed)), LOG_ENTRIES: in_hours(log)}


def properties_of(table: Table) -> dict[str, str]:
    """Further properties of one table."""
    columns = statistics_columns(table)
    stats = {STATISTICS: ",".join(columns)} if columns else {}
    return {**table.properties, **stats}


def has_feed(table: Table) -> bool:
    """Whether changes of a table are published: on a catalog, its commits store them (`FEED`)."""
    return table.layer in LOCKS


def statistics_columns(table: Table) -> tuple[str, ...]:
    """Columns with minimum and maximum in the log; empty for Delta's default.

    Tables with rows of persons have none of text, unless the contract names them: the log outlives rows.
    """
    if table.stats_columns or table.layer not in LOCKS:
        return table.stats_columns
    return tuple(column.name for column in table.columns if column.type.startswith(_WITH_STATISTICS))
