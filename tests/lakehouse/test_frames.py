"""What a session is told of a micro-batch to come, without Spark."""

from typing import Any, cast

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from lakehouse.frames import LONG, MANY, prepare_for, unfused


class Conf:
    """The settings of a session."""

    def __init__(self, refuses: bool = False) -> None:
        self.values: dict[str, str] = {}
        self._refuses = refuses

    def get(self, name: str, default: str) -> str:
        return self.values.get(name, default)

    def set(self, name: str, value: str) -> None:
        if self._refuses:
            raise AnalysisException(f"{name} is not available")
        self.values[name] = value


def session(conf: Conf) -> SparkSession:
    class Session:
        pass

    found: Any = Session()
    found.conf = conf
    return cast("SparkSession", found)


@pytest.mark.parametrize(
    ("rows", "behind", "mode"),
    [
        (0, 0, "NO_CODEGEN"),
        (MANY - 1, LONG - 1, "NO_CODEGEN"),
        (MANY, 0, "FALLBACK"),
        (1, LONG, "FALLBACK"),
    ],
)
def test_few_rows_with_few_behind_them_are_interpreted(rows, behind, mode):
    conf = Conf()
    prepare_for(session(conf), rows, behind)
    assert list(conf.values.values()) == [mode]


def test_a_runtime_that_refuses_goes_on_as_it_is():
    conf = Conf(refuses=True)
    prepare_for(session(conf), 1, 0)
    with unfused(session(conf)):
        pass
    assert conf.values == {}
