"""The session that a job is given where a Spark application is there already, without Spark."""

from types import SimpleNamespace

import pytest
from pyspark.sql import SparkSession

from lakehouse.run.job_session import get_or_start_session
from lakehouse.settings import load_settings


@pytest.mark.parametrize("has_more", [True, False], ids=["classic", "Spark Connect"])
def test_a_job_has_a_session_of_its_own_where_there_can_be_one(
    monkeypatch: pytest.MonkeyPatch, has_more: bool
) -> None:
    conf = dict[str, str]()
    fresh = SimpleNamespace(conf=SimpleNamespace(set=conf.__setitem__))
    there = SimpleNamespace(newSession=lambda: fresh) if has_more else fresh
    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: there)
    with get_or_start_session(load_settings()) as session:
        assert session is fresh
    assert conf == {"spark.sql.session.timeZone": "UTC"}
