"""One micro-batch of the job dimensions: records of shop changes to versions of rows."""

from datetime import datetime
from functools import partial

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from folds.shop.row_history import TRUNCATE
from lakehouse.contracts.bronze import KAFKA_RECORDS
from lakehouse.contracts.shop import REJECTED_CHANGES, SHOP_CHANGES
from lakehouse.delta.write_changes import checkpoint_changes, write_kind
from lakehouse.rows.checkpointing import checkpoint, checkpoint_with
from lakehouse.run.batch_source import Batch
from lakehouse.run.concurrent import run_concurrently
from lakehouse.run.job import JobContext
from lakehouse.run.microbatch import Outcome, stamped_within
from lakehouse.run.rules_version import rules_version
from lakehouse.timestamps import EPOCH
from shop.change_parser import CHANGE, CLASSES, ERASED, REJECTED, changes_of, parse_records, rejected_of
from shop.dimension_changes import TABLES, DimensionRules, affected_rows, dimension_changes
from shop.erased_changes import ErasedChanges
from shop.shop_file import load_shop_rules


class Dimensions:
    """Processes micro-batches of bronze.

    Args:
        run: the job's run.
    """

    def __init__(self, run: JobContext) -> None:
        self._run = run
        self._erased = ErasedChanges(run.lake)
        names = (SHOP_CHANGES.name, REJECTED_CHANGES.name)
        self._filled = {name: run.lake.high_water_mark(name) or EPOCH for name in names}

    @property
    def processed_through(self) -> datetime:
        """High-water mark of the most advanced table, when the job started."""
        return max(self._filled.values())

    def __call__(self, batch: Batch) -> Outcome:
        """Process one micro-batch. After a crash, tables that already have it are skipped."""
        lake, topic = self._run.lake, self._run.settings.shop_changes_topic
        records = lake.read(KAFKA_RECORDS.name).where(stamped_within(batch.after, batch.upto))
        wanted = {each: F.count_if(F.col("record_class") == each) for each in CLASSES}
        wanted[TRUNCATE] = F.count_if((F.col("record_class") == CHANGE) & F.col("row_key").isNull())
        parsed = parse_records(records.where(F.col("topic") == topic))
        if not self._erased.is_empty:
            rules = load_shop_rules(self._run.settings.conf)
            parsed = self._erased.mark_batch(checkpoint(parsed), rules)
        parsed, found = checkpoint_with(parsed, **wanted)
        if found[ERASED]:
            self._erased.erase(parsed, batch)
        if found[REJECTED] and self._filled[REJECTED_CHANGES.name] < batch.upto:
            lake.append(REJECTED_CHANGES.name, rejected_of(parsed), batch.upto)
        if found[CHANGE]:
            new = changes_of(parsed)
            if self._filled[SHOP_CHANGES.name] < batch.upto:
                lake.append(SHOP_CHANGES.name, new, batch.upto)
            self._write(affected_rows(new, lake.read(SHOP_CHANGES.name), found[TRUNCATE] > 0), batch)
        rows = sum(found[each] for each in CLASSES)
        return Outcome(
            input_rows=rows, output_rows=found[CHANGE], rejected=found[REJECTED], erased=found[ERASED]
        )

    def _write(self, affected: DataFrame, batch: Batch) -> None:
        """Write the changed versions of the affected rows."""
        lake, conf = self._run.lake, self._run.settings.conf
        rules = DimensionRules.of(load_shop_rules(conf), rules_version(conf))
        known = {table.name: lake.read(table.name) for table in TABLES}
        folded = dimension_changes(lake.read(SHOP_CHANGES.name), known, rules, affected)
        changes, extents, _ = checkpoint_changes(folded, TABLES)
        run_concurrently([partial(write_kind, lake, each, changes, extents, batch.upto) for each in TABLES])
