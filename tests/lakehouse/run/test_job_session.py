"""The session of a job inside a running Spark application, with simulated sessions."""

from types import SimpleNamespace

import pytest
from pyspark.sql import SparkSession

from lakehouse.run.job_session import get_or_start_session
from lakehouse.settings import load_settings


@pytest.mark.parametrize("has_new_session", [True, False], ids=["classic", "Spark Connect"])
def test_job_gets_separate_session_if_runtime_supports_it(
    monkeypatch: pytest.MonkeyPatch, has_new_session: bool
) -> None:
    conf = dict[str, str]()
    fresh = SimpleNamespace(conf=SimpleNamespace(set=conf.__setitem__))
    active = SimpleNamespace(newSession=lambda: fresh) if has_new_session else fresh
    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: active)
    with get_or_start_session(load_settings()) as session:
        assert session is fresh
    assert conf == {"spark.sql.session.timeZone": "UTC"}
