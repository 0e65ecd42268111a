"""Late events update published trails: small batches on the driver, large ones in Spark, and a rebuild."""

import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from pyspark.sql import SparkSession

from gold.rebuild_definitions import DEFINITIONS
from kit.oracle import Oracle
from kit.oracle_promotions import Choices
from kit.pipeline import assert_as_the_oracle, empty_tables, read_rows, run_jobs
from kit.records import BROWSER, NOON, Bronze, Record, message, record
from kit.spark import empty_home
from lakehouse.bundle_file import BUNDLE_FILE, bundle_root
from lakehouse.contracts.gold import TOUCHES, TRAILS
from lakehouse.run.job import JobContext
from lakehouse.run.rebuild import rebuild_job
from lakehouse.settings import Settings
from millrace.audit.gold import audit_gold

HOUR = timedelta(hours=1)
SHOP = "https://shop.example/"
CHOICES = [Choices(), Choices(on_site_credit=True, view_through=True)]


def event_record(
    uid: str, visitor: str, name: str, hour: float, url: str = SHOP, **properties: str
) -> Record:
    body = message(
        uid, visitor, name, NOON + hour * HOUR, **({"properties": properties} if properties else {})
    )
    return record({**body, "context": {"page": {"url": url}, "userAgent": BROWSER}})


def visit(who: str) -> list[Record]:
    """A landing by the campaign spring, a page view and an order."""
    landing = event_record(f"{who}-landing", who, "page", 48, f"{SHOP}?utm_campaign=spring")
    order = event_record(
        f"{who}-order", who, "Order Completed", 48.4, order_id=who, total="10", currency="EUR"
    )
    return [landing, event_record(f"{who}-page", who, "page", 48.2, f"{SHOP}boots"), order]


def before() -> list[Record]:
    records = [each for who in ("page", "banner", "seen", "clicked", "bridged") for each in visit(who)]
    records += [
        event_record("clicked-seen", "clicked", "Promotion Viewed", 30, promotion_id="spring"),
        event_record("bridged-early", "bridged", "page", 47.2, f"{SHOP}early"),
    ]
    return [*records, event_record("clock", "clock", "page", 400)]


def late() -> list[Record]:
    return [
        event_record("page-late", "page", "page", 48.1, f"{SHOP}late"),
        event_record("banner-late", "banner", "Promotion Clicked", 48.3, promotion_id="sale"),
        event_record("seen-late", "seen", "Promotion Viewed", 24.1, promotion_id="spring"),
        event_record("clicked-late", "clicked", "Promotion Clicked", 31, promotion_id="sale"),
        event_record("bridged-late", "bridged", "page", 47.6, f"{SHOP}bridge"),
    ]


def use_rules(folder: Path, choices: Choices, monkeypatch: pytest.MonkeyPatch) -> None:
    """Change into a bundle copy with these rules."""
    root = bundle_root()
    assert root is not None
    folder.mkdir()
    shutil.copytree(root / "conf", folder / "conf")
    shutil.copy(root / BUNDLE_FILE, folder)
    rules = yaml.safe_load((folder / "conf/rules.yml").read_text())
    rules |= {
        "on_site_promotions": "credit" if choices.on_site_credit else "none",
        "view_through": choices.view_through,
    }
    (folder / "conf/rules.yml").write_text(yaml.safe_dump(rules))
    monkeypatch.chdir(folder)


def oracle_of(bronze: Bronze, choices: Choices) -> Oracle:
    oracle = Oracle.over(bronze.stored)
    oracle.choices = choices
    return oracle


def steps(settings: Settings, order: str) -> list[str]:
    """The events of an order's trail, without the order itself, in order of steps."""
    orders = read_rows(settings, "gold.conversions", ("conversion_id", "order_id"))
    (mine,) = (row["conversion_id"] for row in orders if row["order_id"] == order)
    rows: list[dict[str, Any]] = read_rows(settings, TRAILS.name, ("conversion_id", "step", "event_id"))
    events = [
        row["event_id"] for row in sorted(rows, key=lambda row: row["step"]) if row["conversion_id"] == mine
    ]
    return [event.removeprefix(f"{order}-") for event in events][:-1]


@pytest.mark.long
@pytest.mark.parametrize("choices", CHOICES)
def test_late_events_update_published_trails(
    choices: Choices, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_rules(tmp_path / "bundle", choices, monkeypatch)
    settings = empty_home(spark, tmp_path / "home")
    bronze = Bronze(spark, settings)
    for records in (before(), late()):
        bronze.commit(records)
        run_jobs(spark, settings)
        assert_as_the_oracle(settings, oracle_of(bronze, choices))
    assert steps(settings, "page") == ["landing", "late", "page"]
    assert steps(settings, "banner") == ["landing", "page", "late"]
    assert steps(settings, "seen") == ["late", "landing", "page"]
    assert steps(settings, "clicked") == ["landing", "page"]
    assert steps(settings, "bridged") == ["early", "late", "landing", "page"]
    empty_tables(settings, (TOUCHES.name, TRAILS.name))
    job = rebuild_job(DEFINITIONS, [TOUCHES.name, TRAILS.name])
    job.body(JobContext(job.name, spark.newSession(), settings, once=True))
    assert_as_the_oracle(settings, oracle_of(bronze, choices))
    assert [each.detail for each in audit_gold(settings) if not each.is_right] == []
