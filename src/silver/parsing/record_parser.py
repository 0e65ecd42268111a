"""Parses bronze records in Python, in Spark's workers."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from folds.records.parse_rules import ParseRules
from lakehouse.contracts.bronze import KAFKA_RECORDS
from lakehouse.contracts.silver import EVENTS, EXCHANGE_RATES, REJECTED_EVENTS
from lakehouse.errors import MillraceError
from silver.parsing.parse_worker import COLUMNS, UNTOUCHED, arrow_parser

_TYPES = {
    column.name: column.type
    for table in (KAFKA_RECORDS, REJECTED_EVENTS, EXCHANGE_RATES, EVENTS)
    for column in table.columns
} | {
    "heartbeat_at": "timestamp",
    "promise_source": "string",
    "promised_at": "timestamp",
    "raw": "binary",
    "record_class": "string",
}
_SCHEMA = ", ".join(f"`{name}` {_TYPES[name]}" for name in COLUMNS)
_MISSING = re.compile(r"ModuleNotFoundError: No module named '([^']+)'")


class RecordParser:
    """Parses event and rate records to candidates or rejections. Rejections keep the raw bytes.

    Args:
        rules: roles and channels.
        rates_topic: the topic of exchange rates.
    """

    def __init__(self, rules: ParseRules, rates_topic: str) -> None:
        self.rules = rules
        self._parse = arrow_parser(rules, rates_topic)

    def parse(self, records: DataFrame) -> DataFrame:
        """Parse records, lazily: one pass in Python.

        Args:
            records: bronze.kafka_records.

        Returns:
            The columns of `silver.parsing.parse_worker.parse_batch`, and `rules_version`.
        """
        # only heartbeats and promises need their headers, and they have no value
        headers = F.when(F.col("value").isNull(), F.col("headers")).alias("headers")
        sent = records.select(*UNTOUCHED, "value", headers)
        return sent.mapInArrow(self._parse, _SCHEMA).withColumn("rules_version", F.lit(self.rules.version))


@contextmanager
def naming_missing_packages() -> Iterator[None]:
    """Turn an import error in a Python worker into a one-line error.

    Raises:
        MillraceError: if the block failed because a package is missing.
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
