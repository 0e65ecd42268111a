"""The attribution-model job: credit of channels by the data-driven models."""

import time
from datetime import datetime, timedelta

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from folds.rule_numbers import RuleNumbers, load_rule_numbers
from gold.gate.gate_view import pin_to_published
from gold.models.channel_paths import find_paths, with_view_touches
from gold.models.mlflow_models import record_run
from gold.rules.model_run import ModelRun
from gold.rules.paths import Path
from gold.rules.period_paths import MODELS, PeriodPaths, gather
from lakehouse.contracts.channel_credit import CHANNEL_CREDIT
from lakehouse.contracts.gold import CONVERSIONS, TOUCHES
from lakehouse.contracts.silver import IDENTITIES
from lakehouse.run.job import JobContext
from lakehouse.run.ledger import Ledger
from lakehouse.run.rules_version import rules_version
from lakehouse.timestamps import from_micros

_MICROS = pa.timestamp("us", tz="UTC")
_TYPES = {
    "timestamp": _MICROS,
    "double": pa.float64(),
    "decimal(18,4)": pa.decimal128(18, 4),
    "string": pa.string(),
}


def attribute_paths(run: JobContext) -> None:
    """Credit channels by the data-driven models, in each calendar month and the last 30 days."""
    started = time.monotonic()
    with run.slot:
        computed = _compute(run)
    if computed is None:
        run.log("no paths yet: publish comes first")
    if computed is None or run.stop.is_set():
        return
    paths = sum(len(period.paths) for period in computed.periods)
    run.report_backlog(paths)
    version = record_run(run.settings, computed) if paths else ""
    with run.slot:
        run.lake.overwrite(CHANNEL_CREDIT.name, _frame(run, computed.rows(version)))
    run.report_batch(paths, time.monotonic() - started)


def _compute(run: JobContext) -> ModelRun | None:
    """Credit after the last batch of publish; None before the first batch."""
    published = Ledger(run.lake).last("publish")
    if published is None or published.watermark is None:
        return None
    pin_to_published(run.lake, published)
    numbers = load_rule_numbers(run.settings.conf)
    look_back = numbers.look_back
    periods = _collect(run, published.watermark, numbers)
    rules = {
        "models": ", ".join(MODELS),
        "look_back_days": f"{look_back / timedelta(days=1):g}",
        "business_time_zone": run.settings.business_time_zone,
        "reporting_currency": run.settings.reporting_currency,
        "rules_version": rules_version(run.settings.conf),
    }
    return ModelRun(published.watermark, run.settings.business_time_zone, periods, rules)


def _collect(run: JobContext, watermark: datetime, numbers: RuleNumbers) -> tuple[PeriodPaths, ...]:
    """The paths of each period, on the driver: there are few distinct paths."""
    counted = F.coalesce("is_counted", F.lit(True))  # null in rows that are older than the column
    conversions = run.lake.read(CONVERSIONS.name).where(counted)
    touches = run.lake.read(TOUCHES.name)
    found = find_paths(
        with_view_touches(touches) if numbers.view_through else touches,
        conversions,
        run.lake.read(IDENTITIES.name),
        run.settings.business_time_zone,
        watermark,
        numbers.look_back,
    )
    span = (F.unix_micros(name).alias(name) for name in ("period_start", "period_end"))
    return gather(
        (
            from_micros(row.period_start),
            from_micros(row.period_end),
            Path(tuple(row.channels), row.conversions, float(row.value), row.nulls),
        )
        for row in found.select(*span, "channels", "conversions", "value", "nulls").collect()
    )


def _frame(run: JobContext, rows: list[dict[str, object]]) -> DataFrame:
    schema = pa.schema([(column.name, _TYPES[column.type]) for column in CHANNEL_CREDIT.columns])
    return run.spark.createDataFrame(pa.Table.from_pylist(rows, schema))
