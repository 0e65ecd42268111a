"""Consent as of event time: grants and withdrawals, in order and late, restate exactly what they touch."""

import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from pyspark.sql import SparkSession

from gold.rebuild_definitions import DEFINITIONS as GOLD
from kit.consent_stories import ALL, NONE, UNCOUNTED, UNCREDITED, stating
from kit.oracle import Oracle
from kit.oracle_consents import ConsentChoices
from kit.pipeline import assert_as_the_oracle, empty_tables, read_rows, run_jobs
from kit.records import NOON, Bronze, Record, message, record
from kit.scenarios import cut, story_events
from kit.spark import empty_home
from lakehouse.bundle_file import BUNDLE_FILE, bundle_root
from lakehouse.contracts.consents import CONSENTS
from lakehouse.contracts.traffic import TRAFFIC, VISITOR_MINUTES
from lakehouse.run.job import JobContext
from lakehouse.run.rebuild import rebuild_job
from lakehouse.settings import Settings
from millrace.audit.gold import audit_gold
from silver.rebuild_definitions import DEFINITIONS as SILVER

pytestmark = pytest.mark.long

HOUR = timedelta(hours=1)
EMAIL, ADS = "?utm_source=news&utm_medium=email", "?gclid=1"


def page(visitor: str, hour: float, query: str = "", consent: Any = None) -> Record:
    body = message(f"{visitor}-{hour:g}", visitor, "page", NOON + hour * HOUR)
    return record({**body, "context": {"page": {"url": f"https://shop.example/{query}"}, "consent": consent}})


def order(visitor: str, hour: float, kind: str = "Order Completed", number: str = "") -> Record:
    properties = {"order_id": number or visitor, "total": "10", "currency": "EUR"}
    body = message(f"{kind}-{number or visitor}", visitor, kind, NOON + hour * HOUR, properties=properties)
    return record({**body, "context": {"page": {"url": "https://shop.example/paid"}}})


def refund_of_server(user: str, number: str, hour: float) -> Record:
    properties = {"order_id": number, "total": "10", "currency": "EUR"}
    body = message(f"refund-{number}", "", "Order Refunded", NOON + hour * HOUR, properties=properties)
    return record({**body, "anonymousId": None, "userId": user})


BATCHES = (
    [
        *(page("ann", -48, EMAIL), page("ann", 0, ADS), order("ann", 0.1)),
        # refuses before the order, and grants after it
        *(page("bob", 0, ADS, UNCREDITED), order("bob", 0.1), page("bob", 5, "", ALL)),
        # counts in no figures, but is credited
        *(page("cid", 0, EMAIL, UNCOUNTED), order("cid", 0.1)),
        *(page("dan", 0, EMAIL, ALL), order("dan", 0.1)),
        # her refund, which a server sends as another person, comes before her order
        *(page("eve", 0, ADS, UNCREDITED), refund_of_server("desk", "eve", 1)),
        page("clock", 40),
    ],
    [
        # late: the e-mail was before a grant
        *(page("ann", -60, "", NONE), page("ann", -1, "", ALL)),
        # withdraws after the order, and orders again
        *(page("dan", 41, "", NONE), order("dan", 41.1, number="again")),
        order("bob", 41, "Order Refunded"),
        order("eve", 0.1),
    ],
    [
        # late: the refusal did not hold any more when he ordered, nor did hers when she was counted
        *(page("bob", 0.05, "", ALL), page("cid", -0.5, "", ALL), page("cid", 0.05, "", ALL)),
        page("clock", 80),
    ],
)
CHANNELS = (
    {"ann": ["Email", "Paid Search"], "bob": [], "cid": ["Email"], "dan": ["Email"]},
    {"ann": ["Direct", "Paid Search"], "bob": [], "cid": ["Email"], "dan": ["Email"], "again": []},
    {
        "ann": ["Direct", "Paid Search"],
        "bob": ["Direct"],
        "cid": ["Direct", "Email"],
        "dan": ["Email"],
        "again": [],
    },
)


@pytest.fixture
def conf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The rules of a copy of the bundle, which a test may change."""
    root = bundle_root()
    assert root is not None
    shutil.copytree(root / "conf", tmp_path / "bundle" / "conf")
    shutil.copy(root / BUNDLE_FILE, tmp_path / "bundle")
    monkeypatch.chdir(tmp_path / "bundle")
    return tmp_path / "bundle" / "conf"


def choose(conf: Path, choices: ConsentChoices) -> None:
    document = yaml.safe_load((conf / "consent.yml").read_text())
    document["withdrawn"] = "all" if choices.withdraws_all else "from_then_on"
    for name in choices.refused:
        document["purposes"][name]["default"] = "refused"
    (conf / "consent.yml").write_text(yaml.safe_dump(document))


def linear_channels(settings: Settings) -> dict[str, list[str]]:
    """Channels of each order's linear credit, in order of time, for the visitors of `BATCHES`."""
    orders = {
        row["conversion_id"]: row["order_id"]
        for row in read_rows(settings, "gold.conversions", ("conversion_id", "order_id", "goal"))
        if row["goal"] == "Order Completed" and row["order_id"] in CHANNELS[-1]
    }
    credit = read_rows(settings, "gold.attribution", ("conversion_id", "model", "position", "channel"))
    found: dict[str, list[str]] = {number: [] for number in orders.values()}
    for row in sorted(credit, key=lambda row: row["position"]):
        if row["model"] == "linear" and row["conversion_id"] in orders:
            found[orders[row["conversion_id"]]].append(row["channel"])
    return found


def rebuild(spark: SparkSession, settings: Settings) -> None:
    """Empty the tables that consent decides, and rebuild them."""
    tables = (CONSENTS.name, *GOLD)
    empty_tables(settings, set(tables) - {TRAFFIC.name, VISITOR_MINUTES.name})
    job = rebuild_job({**SILVER, **GOLD}, tables)
    job.body(JobContext(job.name, spark.newSession(), settings, once=True))


def test_withdrawals_from_then_on_match_oracle(spark: SparkSession, tmp_path: Path) -> None:
    settings = empty_home(spark, tmp_path / "home")
    bronze = Bronze(spark, settings)
    stories = cut(stating(story_events(30), seed=1))
    for records, channels, more in zip(BATCHES, CHANNELS, stories, strict=False):
        bronze.commit([*records, *more])
        run_jobs(spark, settings)
        assert_as_the_oracle(settings, Oracle.over(bronze.stored))
        assert linear_channels(settings) == channels
        assert [each.detail for each in audit_gold(settings) if not each.is_right] == []
    rebuild(spark, settings)
    assert_as_the_oracle(settings, Oracle.over(bronze.stored))


@pytest.mark.parametrize(
    "choices",
    [
        pytest.param(ConsentChoices(withdraws_all=True), id="all"),
        pytest.param(ConsentChoices(refused=("analytics", "attribution")), id="refused by default"),
        pytest.param(
            ConsentChoices(withdraws_all=True, refused=("attribution",)), id="all, refused by default"
        ),
    ],
)
def test_other_settings_match_oracle(
    spark: SparkSession, tmp_path: Path, conf: Path, choices: ConsentChoices
) -> None:
    choose(conf, choices)
    settings = empty_home(spark, tmp_path / "home")
    bronze = Bronze(spark, settings)
    stories = cut(stating(story_events(30), seed=2))
    for records, more in zip(BATCHES, stories, strict=False):
        bronze.commit([*records, *more])
        run_jobs(spark, settings)
        assert_as_the_oracle(settings, Oracle.over(bronze.stored, choices))
    rebuild(spark, settings)
    assert_as_the_oracle(settings, Oracle.over(bronze.stored, choices))
