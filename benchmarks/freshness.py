"""How long does a conversion take from Kafka to gold.attribution?

Measured through all jobs, as `millrace up` runs them.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time

import polars as pl
from deltalake import DeltaTable

from benchmarks.bench import print_table, progress
from benchmarks.erasure_beside import Erasure
from benchmarks.workspace import Processors, workspace
from lakehouse.settings import Settings
from millrace.tables import table_reader

WANTED = 40.0  # seconds; limit for the 95th percentile
_LOOK = 0.2  # seconds between polls of the table's log
_GRACE = 100.0  # seconds to wait for the last measured conversions, while traffic continues


def watch(settings: Settings, seconds: float, parts: list[Processors]) -> dict[str, float]:
    """Poll gold.attribution. Returns the time (Unix, s) when each conversion first appeared."""
    seen: dict[str, float] = {}
    version, until = -1, time.monotonic() + seconds
    while time.monotonic() < until:
        for part in parts:
            part.measure()
        table: DeltaTable | None = table_reader.open_table(settings, "gold.attribution")
        if table is not None and table.version() != version:
            now, version = time.time(), table.version()
            ids = pl.scan_delta(table).select("conversion_id").unique().collect()["conversion_id"]
            seen |= {each: now for each in ids if each not in seen}
            progress(f"version {version}: {len(seen):,} conversions")
        time.sleep(_LOOK)
    return seen


def conversions_sent(settings: Settings, seen: dict[str, float], since: float, upto: float) -> pl.DataFrame:
    """Conversions sent between two times (Unix time, s).

    Returns:
        `sent` (Kafka timestamp), `stamp` (ingest stamp), `seen` (first seen in gold); all Unix time in s.
    """
    conversions, events, records = (
        table_reader.scan(settings, name)
        for name in ("gold.conversions", "silver.events", "bronze.kafka_records")
    )
    assert conversions is not None
    assert events is not None
    assert records is not None
    place = ["topic", "partition", "offset"]
    found = (
        conversions.select("conversion_id", "event_id")
        .join(events.select("event_id", *place), on="event_id")
        .join(records.select(*place, "timestamp", "ingested_at"), on=place)
        .select("conversion_id", sent=_seconds("timestamp"), stamp=_seconds("ingested_at"))
        .collect()
    )
    frame = pl.DataFrame({"conversion_id": list(seen), "seen": list(seen.values())})
    return frame.join(found, on="conversion_id").filter(pl.col("sent").is_between(since, upto))


def stages(settings: Settings, conversions: pl.DataFrame) -> dict[str, float]:
    """Mean seconds of conversions in each stage, from the ledger."""
    ledger = table_reader.scan(settings, "ops.ledger")
    assert ledger is not None
    start, position = _seconds("started_at"), _seconds("position")
    batches = ledger.select("job", position=position, start=start, end=start + pl.col("seconds")).collect()
    before, found = conversions.sort("stamp"), {}
    found["in Kafka"] = before["stamp"] - before["sent"]
    done = before["stamp"]
    for job in ("ingest", "refine", "publish"):
        theirs = batches.filter(pl.col("job") == job).sort("position", "start")
        theirs = theirs.unique("position", keep="first", maintain_order=True)  # others: the side input alone
        joined = before.join_asof(theirs, left_on="stamp", right_on="position", strategy="forward")
        if job != "ingest":
            found[f"waiting for {job}"] = joined["start"] - done
        found[job] = joined["end"] - joined["start"]
        done = joined["end"]
    return {stage: float(str(seconds.mean())) for stage, seconds in found.items()}


def _seconds(column: str) -> pl.Expr:
    return pl.col(column).dt.epoch("us") / 1e6


def main() -> int:
    """Run, print, and fail if the limit is exceeded in one of the measured parts."""
    parser = argparse.ArgumentParser(prog="make bench-freshness", description=__doc__)
    parser.add_argument("--rate", type=float, default=1000, help="events a second")
    parser.add_argument(
        "--warm-up",
        type=float,
        nargs="+",
        default=[180],
        help="seconds before each measured part, increasing",
    )
    parser.add_argument("--seconds", type=float, default=180, help="length of each measured part")
    parser.add_argument("--wanted", type=float, default=WANTED, help="seconds, for 95 of 100 conversions")
    parser.add_argument(
        "--erase",
        type=int,
        default=0,
        metavar="PEOPLE",
        help="erase as many at the start of each measured part",
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="millrace-bench-") as folder, workspace(folder) as settings:
        sending = [sys.executable, "-m", "millrace", "produce", "--rate", str(options.rate)]
        producer = subprocess.Popen(sending, stdout=subprocess.DEVNULL)
        try:
            starts = [time.time() + warm_up for warm_up in options.warm_up]
            parts = [Processors(settings.home, since, since + options.seconds) for since in starts]
            delays = options.warm_up if options.erase else ()
            erasures = [Erasure(settings, options.erase, delay) for delay in delays]
            seen = watch(settings, options.warm_up[-1] + options.seconds + _GRACE, parts)
        finally:
            producer.terminate()
            producer.wait()
        for erasure in erasures:
            print(f"The erasure of {options.erase:,} people took {erasure.seconds:.1f} s.")
        failed = 0
        for warm_up, since, processors in zip(options.warm_up, starts, parts, strict=True):
            sent = conversions_sent(settings, seen, since, since + options.seconds)
            print(f"\nAfter {warm_up / 60:,.1f} minutes at {options.rate:,.0f} events/s:")
            used = processors.seconds_a_minute
            print(f"All processes of the home took {used:.1f} processor seconds a minute.")
            failed |= _report(sent, stages(settings, sent) if len(sent) else {}, options.wanted)
        _report_jobs(table_reader.ledger_sums(settings))
    return failed


def _report(sent: pl.DataFrame, mean: dict[str, float], wanted: float) -> int:
    if sent.is_empty():
        print("No conversion of this part has come to gold.")
        return 1
    found = (sent["seen"] - sent["sent"]).sort()
    quantiles = {f"p{percent}": _quantile(found, percent / 100) for percent in (50, 95, 99, 100)}
    print_table(
        f"Seconds from Kafka to gold.attribution, {len(found):,} conversions",
        ["", "s"],
        [[name, f"{seconds:.1f}"] for name, seconds in quantiles.items()],
    )
    rows = [[stage, f"{seconds:.1f}"] for stage, seconds in mean.items()]
    print_table("Where the time goes, mean", ["", "s"], rows)
    print(f"95 of 100 within {quantiles['p95']:.1f} s, at most {wanted:.0f} is wanted.")
    return int(quantiles["p95"] > wanted)


def _quantile(seconds: pl.Series, part: float) -> float:
    return float(str(seconds.quantile(part, "nearest")))


def _report_jobs(sums: dict[str, dict[str, float]]) -> None:
    rows = [
        [job, f"{of['batches']:,}", f"{of['input_rows']:,}", f"{of['seconds']:.0f}"]
        for job, of in sums.items()
    ]
    print_table(f"Jobs on {os.cpu_count()} cores", ["", "micro-batches", "rows", "s in all"], rows)


if __name__ == "__main__":
    sys.exit(main())
