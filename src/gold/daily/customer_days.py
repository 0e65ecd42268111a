"""Days of credit whose custom dimensions follow from changes of the shop's customers."""

from datetime import date, datetime

from pyspark.sql import functions as F

from gold.changed_versions import ChangedVersions
from gold.daily.business_days import business_day
from lakehouse.contracts.daily import DIMENSION_PERFORMANCE
from lakehouse.contracts.gold import CONVERSIONS
from lakehouse.contracts.shop import CUSTOMERS
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.timestamps import from_micros


class CustomerDays:
    """Finds the days that changes of the shop's customers may change in gold.dimension_performance.

    Args:
        lake: the tables.
        zone: the business time zone.

    Attributes:
        through: ingest stamp through which changes have been applied.
    """

    def __init__(self, lake: Lakehouse, zone: str) -> None:
        self._lake, self._zone = lake, zone
        self.through = from_micros(lake.last_commit(DIMENSION_PERFORMANCE.name).get("shop", 0))

    def affected(self, through: datetime) -> list[date]:
        """Days with conversions since the earliest change up to an ingest stamp: one row on the driver.

        A change ends a version or begins one, so it changes no conversion before its time.
        """
        if through <= self.through:
            return []
        since = ChangedVersions(self._lake, self.through, through).earliest(CUSTOMERS)
        if since is None:
            return []
        later = self._lake.read(CONVERSIONS.name).where(F.unix_micros("converted_at") >= since)
        days: list[date] = later.agg(F.collect_set(business_day("converted_at", self._zone))).collect()[0][0]
        return days
