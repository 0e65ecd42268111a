"""Clicks: which of them count, and which row each goes to."""

from collections.abc import Sequence
from datetime import timedelta

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from silver.rules.offers import OfferRule


def place_pieces(pieces: DataFrame, of: Sequence[str], rule: OfferRule) -> DataFrame:
    """Say of each offer and click which row it goes to.

    A counted click goes to its offer, or is an orphan's row. One that doesn't count goes where the counted
    one before it goes. Counting is one step after another, but only within a run of clicks that follow each
    other closely: whoever comes a pause after the click before counts, whatever came before.

    Args:
        pieces: the columns that an offer and its clicks share, then `at` (microseconds), `is_click`,
            `event_id`, and any others.
        of: the columns shared.
        rule: which clicks count, and where they belong.

    Returns:
        The columns shared, `_piece` with the others, `_row` (`at` and `event_id` of its row's event) and
        `_counts`.
    """
    fields = [name for name in pieces.columns if name not in of]
    in_runs = _part_runs(pieces, of, rule).groupBy(*of, "_run")
    runs = in_runs.agg(F.sort_array(F.collect_list(F.struct(*fields, "_own"))).alias("_pieces"))
    runs = runs.withColumn("_heads", _heads(F.col("_pieces"), rule.pause))
    decided = F.transform("_pieces", _follow_head)
    return runs.select(*of, F.explode(decided).alias("_decided")).select(*of, "_decided.*")


def to_micros(duration: timedelta) -> int:
    """A duration as Spark's microseconds count it."""
    return duration // timedelta(microseconds=1)


def _part_runs(pieces: DataFrame, of: Sequence[str], rule: OfferRule) -> DataFrame:
    """The pieces with `_run` (an offer is one by itself), and `_own`: their row, if they count."""
    in_order = Window.partitionBy(*of).orderBy("at", "is_click", "event_id")
    before = in_order.rowsBetween(Window.unboundedPreceding, -1)
    so_far = in_order.rowsBetween(Window.unboundedPreceding, 0)
    is_click, moment = F.col("is_click"), F.struct("at", "event_id")
    quiet = F.col("at") - F.max(F.when(is_click, F.col("at"))).over(before)
    known = pieces.withColumns(
        {
            "_starts": is_click & F.coalesce(quiet >= to_micros(rule.pause), F.lit(True)),
            "_offer": F.last(F.when(~is_click, moment), ignorenulls=True).over(so_far),
        }
    )
    start = F.last(F.when(F.col("_starts"), F.col("event_id")), ignorenulls=True).over(so_far)
    belongs = F.col("at") < F.col("_offer.at") + to_micros(rule.within)
    return known.withColumns(
        {
            "_run": F.when(is_click, start).otherwise(F.col("event_id")),
            "_own": F.when(belongs, F.col("_offer")).otherwise(moment),
        }
    )


def _heads(run: Column, pause: timedelta) -> Column:
    """For each click of a run, in order, the place of the counted one that it is or follows."""
    none = F.array().cast("array<int>")
    start = F.struct(F.lit(None).cast("bigint").alias("last"), none.alias("heads"))

    def take(taken: Column, click: Column) -> Column:
        counts = taken["last"].isNull() | (click["at"] - taken["last"] >= to_micros(pause))
        head = F.when(counts, F.size(taken["heads"])).otherwise(F.element_at(taken["heads"], -1))
        last = F.when(counts, click["at"]).otherwise(taken["last"])
        return F.struct(last.alias("last"), F.array_append(taken["heads"], head).alias("heads"))

    return F.aggregate(run, start, take, lambda taken: taken["heads"])


def _follow_head(piece: Column, place: Column) -> Column:
    head = F.get("_heads", place)
    row = F.get("_pieces", head)["_own"]
    return F.struct(piece.alias("_piece"), row.alias("_row"), (head == place).alias("_counts"))
