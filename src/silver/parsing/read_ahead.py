"""Reads and parses micro-batches of bronze; the next one while the current one is written."""

import threading
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import datetime

from lakehouse.contracts.bronze import KAFKA_RECORDS
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.delta.lookup import Lookup
from lakehouse.rows.driver_or_spark import Rows, Source
from lakehouse.rows.time_pruner import TimePruner
from lakehouse.run.microbatch import Batch
from lakehouse.run.query_tuning import SMALL_BATCH_ROWS
from lakehouse.timestamps import to_micros
from silver.parsing.record_parser import RecordParser

_COLUMNS = ("topic", "partition", "offset", "timestamp", "ingested_at", "value", "headers")


@dataclass(frozen=True)
class _Request:
    """Records to read: those with an ingest stamp in (after, upto]."""

    parser: RecordParser
    after: datetime
    upto: datetime
    on_driver: bool = True


class ReadAhead:
    """Reads micro-batches of bronze.

    Args:
        lake: the tables.
    """

    def __init__(self, lake: Lakehouse) -> None:
        self._lake = lake
        self._ahead: tuple[_Request, Future[Rows]] | None = None

    def candidates(self, batch: Batch, parser: RecordParser, on_driver: bool) -> Rows:
        """The parsed records of a micro-batch. Starts to read the next one, if it is known and small.

        A batch that was read ahead is read again if the rules have changed.
        """
        wanted, ahead = _Request(parser, batch.after, batch.upto, on_driver), self._ahead
        self._ahead = None
        found = ahead[1].result() if ahead and ahead[0] == wanted else self._read(wanted)
        if (following := batch.following) and following.rows < SMALL_BATCH_ROWS:
            self._begin(_Request(parser, batch.upto, following.upto))
        return found

    def _begin(self, wanted: _Request) -> None:
        future: Future[Rows] = Future()
        self._ahead = wanted, future

        def read() -> None:
            try:
                future.set_result(self._read(wanted))
            except BaseException as error:  # noqa: BLE001 - raised in the micro-batch that it belongs to
                future.set_exception(error)

        threading.Thread(target=read, name="read-ahead", daemon=True).start()

    def _read(self, wanted: _Request) -> Rows:
        stamps = TimePruner([(to_micros(wanted.after) + 1, to_micros(wanted.upto))])
        source = Source(self._lake, wanted.on_driver)
        return wanted.parser.read(source.look_up(KAFKA_RECORDS.name, Lookup(_COLUMNS, stamps, "ingested_at")))
