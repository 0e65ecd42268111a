"""The text of every version of the rules that a job has used: ops.rules."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
from delta.exceptions import ConcurrentTransactionException

from lakehouse.contracts.arrow import arrow_schema
from lakehouse.contracts.ops import RULES
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.run.ledger import now
from lakehouse.run.rules_version import read_rule_texts, rule_files, version_of_texts


class RulesHistory:
    """Appends the files of conf/ to ops.rules, each version once.

    Each version has its own transaction id, which Delta keeps with the table. So a version is appended once,
    even if jobs or applications append it at the same time, or again after a crash.

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

        As long as no file has been written since the last call, this checks only their times and sizes.
        """
        stats = [(file.name, file.stat()) for file in rule_files(self._conf)]
        seen = [(name, stat.st_mtime_ns, stat.st_size) for name, stat in stats]
        if seen == self._seen:
            return
        texts = read_rule_texts(self._conf)
        version = version_of_texts(texts)
        if version != self._version:
            with suppress(ConcurrentTransactionException):  # another job has appended the same version
                self._lake.append_once(RULES.name, _rows(version, texts), f"rules:{version}", 1)
        self._seen, self._version = seen, version


def _rows(version: str, texts: Mapping[str, str]) -> pa.Table:
    at = now()
    rows = [(version, file, text, at) for file, text in texts.items()]
    columns = zip(*rows, strict=True)
    return pa.table(dict(zip(RULES.column_names, map(list, columns), strict=True)), arrow_schema(RULES))
