"""Runs of the quality job in MLflow: versions, records and results."""

import os
import re
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from statistics import mean

from pyspark.sql import functions as F

from gold.models.mlflow_client import experiment, quiet_mlflow
from lakehouse.contracts.bronze import KAFKA_RECORDS
from lakehouse.contracts.lineage import upstream_jobs
from lakehouse.package_versions import version_of
from lakehouse.quality.evaluation import Result
from lakehouse.run.job import JobContext
from lakehouse.run.ledger import Entry, Ledger
from lakehouse.run.rules_version import rules_version

_PACKAGES = ("millrace", "pyspark", "delta-spark", "great-expectations", "mlflow")
_OUTCOMES = ("input_rows", "output_rows", "duplicates", "rejected", "heartbeats", "late")
_SHOWN = 50  # partitions in the parameters; offsets.json has all
_REFUSED = re.compile(r"[^/\w.\- :]")  # characters that MLflow refuses in names of metrics


def record_quality(
    run: JobContext, after: datetime, upto: datetime, refined: Sequence[Entry], results: Sequence[Result]
) -> None:
    """Log a run of the quality job.

    Args:
        run: the context of the job.
        after: ingest stamp of the evaluated rows, excluded.
        upto: ingest stamp of the evaluated rows, included.
        refined: ledger rows of refine for the evaluated rows.
        results: the results of the expectations.
    """
    tags = {**_versions(), "git_revision": _revision(), "rules_version": rules_version(run.settings.conf)}
    with (
        quiet_mlflow(run.settings) as mlflow,
        mlflow.start_run(
            experiment_id=experiment(mlflow, run.settings, run.settings.mlflow_quality_experiment),
            run_name=f"{upto:%Y-%m-%d %H:%M:%S}",
        ),
    ):
        mlflow.set_tags(tags)
        offsets = _offsets(run, after, upto)
        shown = {f"offsets/{name}": f"{low}-{high}" for name, (low, high) in list(offsets.items())[:_SHOWN]}
        mlflow.log_params({"after": after.isoformat(), "upto": upto.isoformat(), **shown})
        mlflow.log_dict(offsets, "offsets.json")
        mlflow.log_metrics(_rows(refined) | _seconds(run, after) | _found(results))


def _versions() -> dict[str, str]:
    runtime = os.environ.get("DATABRICKS_RUNTIME_VERSION")
    found = {f"version.{name}": version_of(name) or "unknown" for name in _PACKAGES}
    return found | ({"version.databricks-runtime": runtime} if runtime else {})


def _revision() -> str:
    """Git revision of the code, if it runs from a checkout."""
    with suppress(OSError, subprocess.SubprocessError):
        asked = ["git", "-C", str(Path(__file__).parent), "rev-parse", "HEAD"]
        return subprocess.run(asked, capture_output=True, text=True, check=True, timeout=5).stdout.strip()
    return "unknown"


def _offsets(run: JobContext, after: datetime, upto: datetime) -> dict[str, list[int]]:
    """By topic and partition, first and last offset evaluated."""
    stamp = F.col("ingested_at")
    records = run.lake.read(KAFKA_RECORDS.name).where((stamp > F.lit(after)) & (stamp <= F.lit(upto)))
    spans = records.groupBy("topic", "partition").agg(
        F.min("offset").alias("low"), F.max("offset").alias("high")
    )
    return {f"{row.topic}/{row.partition}": [row.low, row.high] for row in spans.collect()}


def _rows(refined: Sequence[Entry]) -> dict[str, float]:
    return {f"rows/{name}": float(sum(getattr(entry, name) for entry in refined)) for name in _OUTCOMES}


def _seconds(run: JobContext, after: datetime) -> dict[str, float]:
    """By job, mean and maximum duration of its micro-batches."""
    found: dict[str, float] = {}
    for job in upstream_jobs():
        seconds = [entry.seconds for entry in Ledger(run.lake).after(job, after)]
        if seconds:
            found |= {f"seconds/{job}.mean": mean(seconds), f"seconds/{job}.max": max(seconds)}
    return found


def _found(results: Sequence[Result]) -> dict[str, float]:
    """By expectation, the share of violating rows; and the number of failures."""
    metrics = {
        _REFUSED.sub("_", f"expectations/{each.expectation.table}/{each.expectation.name}"): each.observed
        for each in results
    }
    failed = sum(not each.success for each in results)
    return {**metrics, "expectations_failed": float(failed), "expectations_met": float(len(results) - failed)}
