"""Parses rejected records again by the current rules."""

from pyspark.sql import functions as F

from folds.records.parse_rules import load_parse_rules
from lakehouse.contracts.bronze import KAFKA_RECORDS
from lakehouse.contracts.silver import REJECTED_EVENTS
from lakehouse.entry_point import Job
from lakehouse.run.job import JobContext
from silver.dedup.deduplicate import PLACE
from silver.parsing.record_parser import RecordParser


def reparse_rejected(run: JobContext) -> None:
    """Log by reason how many records were rejected, and how many would be accepted now."""
    refused = run.lake.read(REJECTED_EVENTS.name).select(*PLACE, F.col("reason").alias("was"))
    records = run.lake.read(KAFKA_RECORDS.name).join(refused.select(*PLACE), list(PLACE), "left_semi")
    parser = RecordParser(load_parse_rules(run.settings.conf), run.settings.side_topics)
    now = parser.parse(records).select(*PLACE, "reason")
    either = (
        refused.join(now, list(PLACE), "left")
        .groupBy("was")
        .agg(F.count("*").alias("records"), F.count_if(F.col("reason").isNull()).alias("accepted"))
    )
    with run.slot:
        found = either.orderBy("was").collect()
    for row in found:
        share = row.accepted / row.records
        run.log(f"{row.was}: {row.records:,} refused, {row.accepted:,} ({share:.1%}) would be accepted now")
    if not found:
        run.log("nothing has been refused")


main = Job("reconsider", reparse_rejected)
