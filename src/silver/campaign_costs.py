"""Changes of silver.campaign_costs: the days of accounts that new cost records or new rates affect."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from folds.costs.campaign_costs import CampaignCost, CostFold, StampedRate
from folds.costs.cost_rules import load_cost_rules
from folds.costs.loads import CostRecord
from folds.persons.exchange_rates import Rate
from lakehouse.contracts.costs import CAMPAIGN_COSTS
from lakehouse.delta.write_changes import as_tuples, change_type
from lakehouse.rows.arrow_frames import transpose
from lakehouse.rows.grouped import KEY, GroupedRows, map_groups, with_key
from lakehouse.rows.row_changes import RowDiff
from lakehouse.rows.semi_join import semi_join
from lakehouse.run.rules_version import rules_version
from lakehouse.settings import Settings

ACCOUNT_DAY = ("platform", "account", "day")
"""What a load replaces."""

_CHANGES = pa.schema(list(change_type(CAMPAIGN_COSTS)))


def affected_days(new: DataFrame, known: DataFrame, new_rates: DataFrame, zone: str) -> DataFrame:
    """`ACCOUNT_DAY` of days with new records, and of those whose exchange rate is new.

    Args:
        new: records of silver.cost_records.
        known: silver.campaign_costs.
        new_rates: new rows of silver.exchange_rates.
        zone: the business time zone.
    """
    rates, at = F.broadcast(new_rates), rate_time(zone)
    is_valid = (rates["valid_from"] <= at) & (rates["valid_to"].isNull() | (at < rates["valid_to"]))
    converted = known.join(rates, (known["currency"] == rates["currency"]) & is_valid, "left_semi")
    return new.select(*ACCOUNT_DAY).union(converted.select(*ACCOUNT_DAY)).distinct()


def cost_changes(
    records: DataFrame, known: DataFrame, rates: DataFrame, settings: Settings, days: DataFrame | None = None
) -> DataFrame:
    """Recompute days of accounts, and compare them with the known rows.

    Args:
        records: silver.cost_records.
        known: silver.campaign_costs.
        rates: silver.exchange_rates.
        settings: reporting currency, time zone and rules.
        days: `ACCOUNT_DAY` of the days, checkpointed; None: all.

    Returns:
        Columns of `change_type`, one row per changed row; not computed yet.
    """
    if days is not None:
        records, known = (semi_join(rows, days, *ACCOUNT_DAY) for rows in (records, known))
    sent = records.withColumns({KEY: _key(), "at": rate_time(settings.business_time_zone)})
    kinds = {
        "sent": sent.select(KEY, *CostRecord._fields),
        "known": with_key(known, _key(), CAMPAIGN_COSTS.column_names),
        "rate": _rates_of(sent, rates),
    }
    rules, version = load_cost_rules(settings.conf), rules_version(settings.conf)
    fold = CostFold(rules, version, settings.reporting_currency)
    return map_groups(kinds, partial(_fold_days, fold=fold), _CHANGES)


def rate_time(zone: str) -> Column:
    """The time whose exchange rate counts for a day: noon in the business time zone."""
    return F.to_utc_timestamp(F.col("day").cast("timestamp") + F.expr("INTERVAL 12 HOURS"), zone)


def _key() -> Column:
    return F.to_json(F.array("platform", "account", F.col("day").cast("string")))


def _rates_of(sent: DataFrame, rates: DataFrame) -> DataFrame:
    """`KEY`, columns of `Rate` and ingest stamp of the rates of each day's currencies at its time."""
    wanted = sent.select(KEY, F.col("currency").alias("_currency"), "at").distinct()
    is_valid = (rates["valid_from"] <= wanted["at"]) & (
        rates["valid_to"].isNull() | (wanted["at"] < rates["valid_to"])
    )
    found = wanted.join(F.broadcast(rates), (rates["currency"] == wanted["_currency"]) & is_valid)
    return found.select(KEY, *Rate._fields, rates["ingested_at"])


def _fold_days(groups: GroupedRows, fold: CostFold) -> Iterator[pa.RecordBatch]:
    sent, known = groups.rows("sent", CostRecord), groups.rows("known", CampaignCost)
    rates = groups.rows("rate", _stamped_rate)
    diff = RowDiff(CAMPAIGN_COSTS)
    changes = [
        change
        for day in sent.keys() | known.keys()
        for change in diff.compare(known.get(day, ()), fold(sent.get(day, ()), rates.get(day, ())))
    ]
    yield pa.RecordBatch.from_arrays(transpose(as_tuples(changes), list(_CHANGES)), schema=_CHANGES)


def _stamped_rate(*values: Any) -> StampedRate:
    return StampedRate(Rate(*values[:-1]), values[-1])
