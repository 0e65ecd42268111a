"""Delta properties of new tables; docs/decisions/0002 has the reasons."""

from datetime import timedelta

from lakehouse.contracts import Table
from lakehouse.maintenance.retention import in_hours


def default_properties(vacuum_retention: timedelta) -> dict[str, str]:
    """Properties of every table."""
    return {
        "delta.checkpointInterval": "100",
        "delta.logRetentionDuration": "interval 1 days",
        "delta.enableDeletionVectors": "false",
        "delta.deletedFileRetentionDuration": in_hours(vacuum_retention),
    }


def properties_of(table: Table) -> dict[str, str]:
    """Further properties of one table."""
    stats = {"delta.dataSkippingStatsColumns": ",".join(table.stats_columns)} if table.stats_columns else {}
    return {**table.properties, **stats}
