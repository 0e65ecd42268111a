"""Traffic: what happened in each window of time, kept up by what changes in it."""

from datetime import datetime

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from gold.windows import LONGEST, change_windows, revise_windows, subtract_windows
from lakehouse.contracts.gold import TRAFFIC, TRAFFIC_CHANGES, VISITOR_MINUTES
from lakehouse.frames import settle
from lakehouse.restating import restate
from lakehouse.tables import Lakehouse
from lakehouse.time_pruner import TimePruner

RETRACT, REPLACE = "retract", "replace"


class Traffic:
    """Keeps gold.traffic and gold.traffic_changes in step with gold.visitor_minutes.

    Changes are written first, and traffic is folded from them. Each commit says how far it has come, so that
    what a crash let through is neither forgotten nor done twice.

    Args:
        lake: the tables, as publish sees them.
        zone: the time zone that days go by.
    """

    def __init__(self, lake: Lakehouse, zone: str) -> None:
        self._lake = lake
        self._zone = zone

    def take_in(self, upto: datetime, watermark: datetime) -> None:
        """Fold in what is new.

        Args:
            upto: ingest stamp that gold is done up to.
            watermark: how far the results are complete.
        """
        told = self._told(TRAFFIC_CHANGES.name)
        if self._told(TRAFFIC.name)["sequence"] < told["sequence"]:
            left = self._lake.read(TRAFFIC_CHANGES.name).where(F.col("sequence") == told["sequence"])
            self._fold(settle(left), upto, told["sequence"])
        known = self._told(VISITOR_MINUTES.name)["sequence"]
        self._write(self._revise(told["minutes"], watermark), upto, known)

    def make_anew(self, windows: DataFrame, upto: datetime, watermark: datetime) -> None:
        """Put windows in the place of all that stand; what was and is different goes into the changes.

        Args:
            windows: as `gold.windows.change_windows` gives them, of all minutes.
            upto: ingest stamp that gold is done up to.
            watermark: how far the results are complete.
        """
        standing = settle(self._lake.read(TRAFFIC.name))
        rows = revise_windows(standing, subtract_windows(windows, standing), watermark)
        self._write(rows, upto, self._told(VISITOR_MINUTES.name)["sequence"])

    def _write(self, rows: DataFrame, upto: datetime, known: int) -> None:
        """Add the changes, and fold them in."""
        sequence = self._told(TRAFFIC_CHANGES.name)["sequence"] + 1
        stamp = {"changed_at": F.lit(upto), "sequence": F.lit(sequence).cast("bigint")}
        changes = settle(_changes(settle(rows)).withColumns(stamp))
        if not changes.isEmpty():
            self._lake.append(TRAFFIC_CHANGES.name, changes, upto, sequence=sequence, minutes=known)
            self._fold(changes, upto, sequence)

    def _told(self, table: str) -> dict[str, int]:
        told = self._lake.last_commit(table)
        return {name: int(str(told.get(name, 0))) for name in ("sequence", "minutes")}

    def _revise(self, done: int, watermark: datetime) -> DataFrame:
        minutes = self._lake.read(VISITOR_MINUTES.name)
        new = F.col("sequence") > done
        fresh = settle(minutes.where(new & F.col("visitor_id").isNotNull()))
        near = minutes.where(TimePruner.of_rows(fresh, "minute", LONGEST).contains("minute"))
        theirs = near.join(F.broadcast(fresh.select("visitor_id").distinct()), "visitor_id", "left_semi")
        differences = settle(change_windows(settle(theirs.withColumn("is_new", new)), self._zone))
        return revise_windows(self._standing(differences, watermark), differences, watermark)

    def _standing(self, differences: DataFrame, watermark: datetime) -> DataFrame:
        """Rows of gold.traffic that differ, or that the watermark has passed."""
        traffic = self._lake.read(TRAFFIC.name)
        passed = ~F.col("is_complete") & (F.col("window_end") <= F.lit(watermark))
        same = [
            F.col(f"t.{name}").eqNullSafe(F.col(f"d.{name}"))
            for name in ("window_kind", "window_start", "channel")
        ]
        concerned = traffic.where(
            TimePruner.of_rows(differences, "window_start").contains("window_start") & ~passed
        )
        differing = concerned.alias("t").join(F.broadcast(differences).alias("d"), same, "left_semi")
        return settle(traffic.where(passed).unionByName(differing))

    def _fold(self, changes: DataFrame, upto: datetime, sequence: int) -> None:
        before = changes.where(F.col("change") == RETRACT)
        after = changes.where(F.col("change") == REPLACE)
        restate(self._lake, TRAFFIC.name, before, after, upto, sequence=sequence)


def _changes(rows: DataFrame) -> DataFrame:
    """Revised windows as what was and what is."""
    columns = TRAFFIC.column_names
    retracted = rows.where(F.col("_before").isNotNull()).select(
        *(_of_before(name) for name in columns), F.lit(RETRACT).alias("change")
    )
    replaced = rows.where(~F.col("_gone")).select(*columns, F.lit(REPLACE).alias("change"))
    return retracted.unionByName(replaced)


def _of_before(name: str) -> Column:
    return F.col(f"_before.{name}").alias(name)
