"""Records of bronze as candidates: what each says, and why it can't be used."""

from contextlib import nullcontext

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lakehouse.frames import settle
from lakehouse.tuning import MANY, unfused
from silver.copies import PLACE
from silver.parse import Rules, parse
from silver.rates import parse_rates
from silver.steps import Steps, take
from silver.verdicts import why_unusable

_OF_RATES = (*PLACE, "arrival_time", "raw", "currency", "rate", "valid_from", "reason", "unsure")
_TAKEN_APART = ("key", "headers", "message", "page", "campaign", "known", "agent")


class Reader:
    """Parses records, of events and of rates, and says which can't be used; bytes are kept of those alone.

    Its columns are made once: Python takes longer to make them than Spark takes for a small micro-batch.

    Args:
        rules: roles and channels.
        rates_topic: the topic of exchange rates.
    """

    def __init__(self, rules: Rules, rates_topic: str) -> None:
        self.rules = rules
        self._is_rate = F.col("topic") == rates_topic
        self._quick, self._careful = (
            [*parse(rules, carefully), {"reason": why_unusable()}] for carefully in (False, True)
        )
        self._rates: Steps = [*parse_rates(), {"unsure": F.lit(False)}]
        self._bytes = {"raw": F.when(F.col("reason").isNotNull(), F.col("raw"))}

    def read(self, records: DataFrame, count: int) -> DataFrame:
        """All are read quickly, and then carefully those where that may not do.

        Args:
            records: bronze.kafka_records.
            count: about how many there are.

        Returns:
            One row a record, settled: coordinates, `timestamp`, `ingested_at`, and what `silver.parse.parse`,
            `silver.rates.parse_rates` and `silver.verdicts.why_unusable` tell, null where it has none.
        """
        with unfused(records.sparkSession) if count >= MANY else nullcontext():
            quick = settle(self.read_quickly(records))
        unsure = quick.where("unsure")
        if unsure.isEmpty():
            return quick.drop("unsure")
        places = F.broadcast(unsure.select(*PLACE))
        careful = self.read_carefully(records.join(places, list(PLACE), "left_semi"))
        return quick.where("NOT unsure").drop("unsure").unionByName(settle(careful))

    def read_quickly(self, records: DataFrame) -> DataFrame:
        """The same, not settled, with `unsure`: whether it may be wrong."""
        return self._read(records, self._quick)

    def read_carefully(self, records: DataFrame) -> DataFrame:
        """The same, not settled: at several times the cost, but in one go."""
        return self._read(records, self._careful).drop("unsure")

    def _read(self, records: DataFrame, parse_events: Steps) -> DataFrame:
        raw = records.withColumnRenamed("value", "raw")
        events = take(raw.where(~self._is_rate), parse_events).drop(*_TAKEN_APART)
        rates = take(raw.where(self._is_rate), self._rates).select(*_OF_RATES)
        return events.unionByName(rates, allowMissingColumns=True).withColumns(self._bytes)
