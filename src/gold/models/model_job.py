"""The attribution-model job: credit of channels by the data-driven models."""

import time
from datetime import datetime, timedelta
from functools import partial

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from folds.rule_numbers import RuleNumbers, load_rule_numbers
from gold.gate.gate_view import pin_to_published
from gold.models.channel_paths import find_paths
from gold.models.mlflow_models import record_run
from gold.models.path_fold import CREDIT, credit_of_periods, fold_paths, path_file
from gold.rules.model_run import ModelRun
from gold.rules.period_paths import MODELS
from lakehouse.contracts.channel_credit import CHANNEL_CREDIT
from lakehouse.contracts.gold import CONVERSIONS, TOUCHES
from lakehouse.contracts.silver import IDENTITIES
from lakehouse.rows.checkpointing import checkpoint
from lakehouse.rows.grouped import rows_of_kind
from lakehouse.run.job import JobContext
from lakehouse.run.ledger import Ledger
from lakehouse.run.rules_version import rules_version


def attribute_paths(run: JobContext) -> None:
    """Credit channels by the data-driven models, in each calendar month and the last 30 days."""
    started = time.monotonic()
    published = Ledger(run.lake).last("publish")
    if published is None or published.watermark is None:
        run.log("no paths yet: publish comes first")
        return
    numbers, zone = load_rule_numbers(run.settings.conf), run.settings.business_time_zone
    with run.slot:
        pin_to_published(run.lake, published)
        folded = checkpoint(fold_paths(_paths(run, published.watermark, numbers)))
        computed = ModelRun(published.watermark, zone, credit_of_periods(folded), _rules(run, numbers))
    if run.stop.is_set():
        return
    paths = sum(int(period.figures["paths"]) for period in computed.periods)
    run.report_backlog(paths)
    version = record_run(run.settings, computed, partial(path_file, folded)) if paths else ""
    with run.slot:
        credit = rows_of_kind(folded, CREDIT).withColumn("model_version", F.lit(version))
        run.lake.overwrite(CHANNEL_CREDIT.name, credit)
    run.report_batch(paths, time.monotonic() - started)


def _paths(run: JobContext, watermark: datetime, numbers: RuleNumbers) -> DataFrame:
    """The paths of each period."""
    counted = F.coalesce("is_counted", F.lit(True))  # null in rows that are older than the column
    credited = F.coalesce("has_attribution_consent", F.lit(True))
    return find_paths(
        run.lake.read(TOUCHES.name).where(credited),
        run.lake.read(CONVERSIONS.name).where(counted & credited),
        run.lake.read(IDENTITIES.name),
        run.settings.business_time_zone,
        watermark,
        numbers.look_back,
        numbers.view_through,
    )


def _rules(run: JobContext, numbers: RuleNumbers) -> dict[str, str]:
    return {
        "models": ", ".join(MODELS),
        "look_back_days": f"{numbers.look_back / timedelta(days=1):g}",
        "business_time_zone": run.settings.business_time_zone,
        "reporting_currency": run.settings.reporting_currency,
        "rules_version": rules_version(run.settings.conf),
    }
