"""Checks that topics of other records than events have kept their names."""

from pyspark.sql import functions as F

from lakehouse.contracts.costs import COST_RECORDS
from lakehouse.contracts.shop import SHOP_CHANGES
from lakehouse.contracts.silver import EXCHANGE_RATES
from lakehouse.errors import MillraceError
from lakehouse.run.job import JobContext

_SETTINGS = {
    EXCHANGE_RATES.name: "exchange_rates_topic",
    COST_RECORDS.name: "campaign_costs_topic",
    SHOP_CHANGES.name: "shop_changes_topic",
}


def require_side_topics(run: JobContext) -> None:
    """Check that the settings name the topics that rates, costs and changes of the shop's database are from.

    The kind of a record follows from its topic. Records of a topic that the settings do not name are events.

    Raises:
        MillraceError: if they name others.
    """
    for name, setting in _SETTINGS.items():
        topic = getattr(run.settings, setting)
        others = run.lake.read(name).where(F.col("topic") != topic)
        other = others.agg(F.min("topic")).collect()[0][0]
        if other is not None:
            raise MillraceError(
                f"{name} has records of the topic {other}, and the settings name {topic}: records of {other} "
                "would be read as events",
                f"Set MILLRACE_{setting.upper()} to {other} again: a topic of these records keeps its name",
            )
