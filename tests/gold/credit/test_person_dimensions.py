"""Custom dimensions of level `person`: conversions have the value of the first touch, also of a late one."""

import shutil
from datetime import timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from kit.oracle import Oracle
from kit.oracle_promotions import Choices
from kit.pipeline import assert_as_the_oracle, empty_tables, read_rows, run_jobs
from kit.records import BROWSER, NOON, Bronze, Record, message, record
from kit.spark import empty_home
from lakehouse.bundle_file import BUNDLE_FILE, bundle_root
from lakehouse.contracts.gold import CONVERSIONS, TOUCHES
from lakehouse.run.job import JobContext
from lakehouse.run.rebuild import rebuild_job
from lakehouse.settings import Settings
from millrace.operations.rebuild import definitions
from millrace.operations.replay import replay_job

pytestmark = pytest.mark.long

HOUR = timedelta(hours=1)
PHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 Mobile/15E148"
CRAWLER = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"
TABLET = "Mozilla/5.0 (iPad; CPU OS 16_0 like Mac OS X) AppleWebKit/605.1.15 Version/16.0 Safari/604.1"
RULES = """
dimensions:
  device: {from: user_agent.device, level: LEVEL}
  system: {from: user_agent.system, level: session}
"""
OTHER_NAMES = {"gold.funnel_by_dimension"}  # of the oracle: both dimensions are of level `session`


def sent(uid: str, visitor: str, kind: str, hour: float, agent: str, **more: object) -> Record:
    context = {"page": {"url": "https://shop.example/"}, "userAgent": agent}
    return record({**message(uid, visitor, kind, NOON + hour * HOUR, context=context), **more})


def order(number: str, visitor: str, hour: float, kind: str = "Order Completed") -> Record:
    properties = {"order_id": number, "total": 10, "currency": "EUR"}
    return sent(f"{number}-{kind}", visitor, kind, hour, BROWSER, userId="ann", properties=properties)


def devices(settings: Settings) -> dict[tuple[str, str], str | None]:
    rows = read_rows(settings, CONVERSIONS.name, ("order_id", "goal", "custom_dimensions"))
    return {(row["order_id"], row["goal"].split()[1]): device_of(row["custom_dimensions"]) for row in rows}


def device_of(text: str | None) -> str | None:
    return (text or "").partition('"device":"')[2].partition('"')[0] or None


@pytest.fixture
def conf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The rules of a bundle of the test's own."""
    root, folder = bundle_root(), tmp_path / "bundle"
    assert root is not None
    shutil.copytree(root / "conf", folder / "conf")
    shutil.copy(root / BUNDLE_FILE, folder / BUNDLE_FILE)
    monkeypatch.chdir(folder)
    return folder / "conf"


def test_late_touch_and_login_change_value_of_conversions(
    spark: SparkSession, tmp_path: Path, conf: Path
) -> None:
    settings = empty_home(spark, tmp_path / "home")
    bronze = Bronze(spark, settings)
    (conf / "dimensions.yml").write_text(RULES.replace("LEVEL", "session"))
    choices = Choices()

    def check() -> dict[tuple[str, str], str | None]:
        oracle = Oracle.over(bronze.stored)
        oracle.choices = choices
        assert_as_the_oracle(settings, oracle, "gold", left_out=OTHER_NAMES)
        return devices(settings)

    def arrive(*records: Record) -> dict[tuple[str, str], str | None]:
        bronze.commit(records)
        run_jobs(spark, settings)
        return check()

    # at home with a desktop, ann orders twice; before, somebody came with a telephone
    first, second = ("1", "Completed"), ("2", "Completed")
    orders = [sent("d-1", "desktop", "page", 40, BROWSER), order("1", "desktop", 40.1)]
    found = arrive(sent("p-1", "phone", "page", 20, PHONE), *orders, order("2", "desktop", 900))
    assert found == {first: "desktop", second: "desktop"}
    # the level of a dimension is no rule of silver, and a replay applies it all the same
    choices = Choices(person_level=("device",))
    (conf / "dimensions.yml").write_text(RULES.replace("LEVEL", "person"))
    empty_tables(settings, [TOUCHES.name, CONVERSIONS.name])
    job = replay_job("Ada", "another level")
    job.body(JobContext(job.name, spark.newSession(), settings, once=True))
    assert check() == {first: "desktop", second: "desktop"}
    # the telephone turns out to be ann's, and refunds follow their orders, one of a bot too
    login = sent("p-2", "phone", "identify", 20.1, PHONE, userId="ann")
    of_bot = [sent("b-1", "bot", "page", 901, CRAWLER), order("2", "bot", 901, "Order Refunded")]
    found = arrive(login, order("1", "elsewhere", 901, "Order Refunded"), *of_bot)
    refunds = {("1", "Refunded"): "phone", ("2", "Refunded"): "desktop"}
    assert found == {first: "phone", second: "desktop", **refunds}
    # a late touch is earlier
    found = arrive(sent("t-1", "phone", "page", 10, TABLET))
    assert found == {first: "tablet", second: "desktop", **refunds, ("1", "Refunded"): "tablet"}
    job = rebuild_job(definitions(), (TOUCHES.name, CONVERSIONS.name))
    job.body(JobContext(job.name, spark.newSession(), settings, once=True))
    assert check() == found
