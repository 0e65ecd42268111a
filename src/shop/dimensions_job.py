"""The job dimensions: the shop's database with its history."""

from pyspark.sql import functions as F

from lakehouse.contracts.bronze import KAFKA_RECORDS
from lakehouse.contracts.silver import LOCK
from lakehouse.run.job import JobContext
from lakehouse.run.microbatch import run_microbatches
from shop.dimensions import Dimensions
from shop.shop_file import load_shop_rules


def dimensions(run: JobContext) -> None:
    """Keep the versions of customers, products, campaigns and orders of the shop's database."""
    often = any(source.database for source in load_shop_rules(run.settings.conf).sources.values())
    settings = run.settings
    pause = settings.trigger_interval if often or _has_changes(run) else settings.repair_interval
    process = Dimensions(run)
    through = process.processed_through
    run_microbatches(run, "ingest", process, lock=LOCK, processed_through=through, pause=pause)


def _has_changes(run: JobContext) -> bool:
    """Whether bronze has records of a shop's database. Statistics of files tell, if it has none."""
    of_topic = F.col("topic") == run.settings.shop_changes_topic
    return not run.lake.read(KAFKA_RECORDS.name).where(of_topic).select("offset").limit(1).isEmpty()
