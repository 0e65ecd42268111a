"""Parses bronze records in Python, in Spark's workers."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from folds.records.parse_rules import ParseRules
from lakehouse.contracts.bronze import KAFKA_RECORDS
from lakehouse.contracts.costs import COST_RECORDS
from lakehouse.contracts.silver import EVENTS, EXCHANGE_RATES, REJECTED_EVENTS
from lakehouse.errors import MillraceError
from silver.parsing.parse_worker import COLUMNS, RECORD, arrow_parser

_COST = ", ".join(f"{each.name}: {each.type}" for each in COST_RECORDS.columns if not each.provenance)
_TYPES = {
    column.name: column.type
    for table in (KAFKA_RECORDS, REJECTED_EVENTS, EXCHANGE_RATES, EVENTS)
    for column in table.columns
} | {
    "heartbeat_at": "timestamp",
    "promise_source": "string",
    "promised_at": "timestamp",
    "campaign_cost": f"struct<{_COST}>",
    "raw": "binary",
    "record_class": "string",
}
_SCHEMA = ", ".join(f"`{name}` {_TYPES[name]}" for name in COLUMNS)
_MISSING = re.compile(r"ModuleNotFoundError: No module named '([^']+)'")


class RecordParser:
    """Parses records of events, rates and costs to candidates or rejections. Rejections keep the raw bytes.

    Args:
        rules: roles and channels.
        side_topics: the topics of exchange rates, and of campaign costs.
    """

    def __init__(self, rules: ParseRules, side_topics: tuple[str, str]) -> None:
        self.rules = rules
        self._parse = arrow_parser(rules, side_topics)

    def parse(self, records: DataFrame) -> DataFrame:
        """Parse records, lazily: one pass in Python.

        Args:
            records: bronze.kafka_records.

        Returns:
            The columns of `silver.parsing.parse_worker.parse_batch`, and `rules_version`.
        """
        # only heartbeats and promises need their headers, and they have no value
        headers = F.when(F.col("value").isNull(), F.col("headers")).alias("headers")
        sent = records.select(*RECORD, "value", headers)
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
