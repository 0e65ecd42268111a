"""The folder of an erasure that has not ended: the identities, until every step is done."""

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from lakehouse.errors import MillraceError
from lakehouse.files import replace_file
from privacy.erasure.unfinished import ERASURES, IDENTITIES
from privacy.identities import Person
from privacy.keys import FOLDER

_BATCHES = "batches.json"


class WorkFolder:
    """`privacy/erasures/REQUEST` of a home. It is removed when the erasure has ended.

    Args:
        home: the folder of all local state.
        request: number of the request.
    """

    def __init__(self, home: Path, request: str) -> None:
        self._folder = home / FOLDER / ERASURES / request
        self._request = request

    @property
    def is_there(self) -> bool:
        """Whether the erasure was started and has not ended."""
        return self._identities.exists()

    def start(self, person: Person) -> None:
        """Write the identities down, so that an interrupted erasure can be resumed."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        content = {name: sorted(values) for name, values in vars(person).items()}
        replace_file(self._identities, json.dumps(content), mode=0o600)

    def person(self) -> Person:
        """The identities, which may be those of several persons.

        Raises:
            MillraceError: if the erasure was not started, or has ended.
        """
        if not self.is_there:
            raise MillraceError(
                f"request {self._request} is not being erased", "Start it with `millrace erase --request`"
            )
        content = json.loads(self._identities.read_text())
        return Person(**{name: frozenset(values) for name, values in content.items()})

    def note_versions(self, versions: Mapping[str, int]) -> Mapping[str, int]:
        """Write down the versions of tables before the erasure, unless they are; returns what is written."""
        file = self._folder / "versions.json"
        if not file.exists():
            replace_file(file, json.dumps(dict(versions)))
        found: dict[str, int] = json.loads(file.read_text())
        return found

    @property
    def batches(self) -> list[int | None] | None:
        """What was noted last by `note_batches`; None: nothing."""
        file = self._folder / _BATCHES
        found: list[int | None] | None = json.loads(file.read_text()) if file.exists() else None
        return found

    def note_batches(self, batches: Sequence[int | None]) -> None:
        """Write down the last micro-batches of jobs."""
        replace_file(self._folder / _BATCHES, json.dumps(batches))

    def write(self, name: str, rows: DataFrame) -> None:
        """Keep rows for later steps, in addition to those of the same name."""
        rows.write.mode("append").parquet(str(self._folder / name))

    def read(self, spark: SparkSession, name: str) -> DataFrame:
        """The rows that earlier steps have written, each once."""
        return spark.read.parquet(str(self._folder / name)).distinct()

    def remove(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def _identities(self) -> Path:
        return self._folder / IDENTITIES
