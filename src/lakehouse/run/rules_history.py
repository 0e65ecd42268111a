"""The text of every version of the rules that a job has used: ops.rules."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from delta.exceptions import ConcurrentTransactionException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lakehouse.contracts.ops import RULES
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.run.ledger import now
from lakehouse.run.rules_version import read_rule_texts, rule_files, version_of_texts


class RulesHistory:
    """Appends the files of conf/ to ops.rules, each version once.

    Each version has a transaction id of its own, which Delta keeps with the table. Of jobs and applications
    that append the same version, at once or again after a crash, one does; the others change nothing.

    Args:
        lake: the tables, as the job writes them.
        conf: the folder of the rules.
    """

    def __init__(self, lake: Lakehouse, conf: Path) -> None:
        self._lake = lake
        self._conf = conf
        self._seen: list[tuple[str, int, int]] = []
        self._version = ""

    def record(self) -> None:
        """Append the current files in one commit, unless their version exists.

        As long as no file has been written since the last call, this looks at their times and sizes alone.
        """
        stats = [(file.name, file.stat()) for file in rule_files(self._conf)]
        seen = [(name, stat.st_mtime_ns, stat.st_size) for name, stat in stats]
        if seen == self._seen:
            return
        texts = read_rule_texts(self._conf)
        version = version_of_texts(texts)
        if version != self._version:
            with suppress(ConcurrentTransactionException):  # whoever came first has written the same
                self._lake.append_once(RULES.name, self._rows(version, texts), f"rules:{version}", 1)
        self._seen, self._version = seen, version

    def _rows(self, version: str, texts: Mapping[str, str]) -> DataFrame:
        at = now()
        rows = [
            F.struct(*(F.lit(value).alias(name) for name, value in zip(RULES.column_names, row, strict=True)))
            for row in ((version, file, text, at) for file, text in texts.items())
        ]
        return self._lake.spark.range(1).coalesce(1).select(F.inline(F.array(*rows)))
