"""Records of bronze as candidates: parsed on Spark's Python workers, a whole record in one call."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from folds.records.parse_rules import ParseRules
from lakehouse.arrow_frames import apply_to_batches
from lakehouse.contracts.bronze import KAFKA_RECORDS
from lakehouse.contracts.silver import EVENTS, EXCHANGE_RATES, REJECTED_EVENTS
from lakehouse.errors import MillraceError
from lakehouse.frames import settle
from silver.arrow_parsing import PARSED, UNTOUCHED, arrow_parser

_TYPES = {
    column.name: column.type
    for table in (KAFKA_RECORDS, REJECTED_EVENTS, EXCHANGE_RATES, EVENTS)
    for column in table.columns
} | {"heartbeat_at": "timestamp", "raw": "binary"}
_SCHEMA = ", ".join(f"`{name}` {_TYPES[name]}" for name in (*UNTOUCHED, *PARSED))
_MISSING = re.compile(r"ModuleNotFoundError: No module named '([^']+)'")


class RecordParser:
    """Parses records, of events and of rates, and says which can't be used; bytes are kept of those alone.

    Args:
        rules: roles and channels.
        rates_topic: the topic of exchange rates.
    """

    def __init__(self, rules: ParseRules, rates_topic: str) -> None:
        self.rules = rules
        self._parse = arrow_parser(rules, rates_topic)
        self._derived = {
            "event_hash": F.xxhash64("event_id"),
            "rules_version": F.lit(rules.version),
        }

    def read(self, records: DataFrame, *, on_driver: bool = False) -> DataFrame:
        """Parse records now.

        Args:
            records: bronze.kafka_records.
            on_driver: whether they are few enough to be parsed there.

        Returns:
            `plan`, settled.
        """
        with naming_missing_packages():
            return settle(self.plan(records, on_driver=on_driver))

    def plan(self, records: DataFrame, *, on_driver: bool = False) -> DataFrame:
        """Parse records whenever the frame is computed.

        Args:
            records: bronze.kafka_records.
            on_driver: whether they are few enough to be parsed there, and at once.

        Returns:
            What `silver.arrow_parsing.parse_batch` gives, with `event_hash` and `rules_version`.
        """
        # headers are read of heartbeats alone, which have no value
        headers = F.when(F.col("value").isNull(), F.col("headers")).alias("headers")
        sent = records.select(*UNTOUCHED, "value", headers)
        parsed = apply_to_batches(sent, self._parse, _SCHEMA, on_driver=on_driver)
        return parsed.withColumns(self._derived)


@contextmanager
def naming_missing_packages() -> Iterator[None]:
    """Say in one line what a Python worker can't import.

    Raises:
        MillraceError: if that is why the block failed.
    """
    try:
        yield
    except PySparkException as error:
        missing = _MISSING.search(str(error))
        if missing is None:
            raise
        raise MillraceError(
            f"Spark's Python workers have no package {missing[1]}",
            "Install Millrace's wheel on every machine of the cluster, and name its Python in PYSPARK_PYTHON",
        ) from error
