"""The audit finds touches that lack credit: those of a conversion's person, by the spans of its visitors."""

import shutil
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from kit.warehouse_builder import append_rows, build_warehouse
from lakehouse.bundle_file import BUNDLE_FILE, bundle_root
from lakehouse.run.rules_version import rules_version
from lakehouse.settings import Settings, load_settings
from millrace.audit.gold import audit_gold

NOON = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)
MINUTE = timedelta(minutes=1)
ORDERED = NOON + 30 * MINUTE
EARLY, LATE = (NOON - 120 * MINUTE, "early"), (NOON, "late")


def visit(uid: str, visitor: str, at: datetime, **more: Any) -> dict[str, Any]:
    both = {"touch_id": f"visit-{uid}", "event_id": uid, "visitor_id": visitor, "touched_at": at}
    return {**both, "kind": "visit", "channel": "Email", "earns_credit": True, **more}


def span(visitor: str, user: str, **bounds: Any) -> dict[str, Any]:
    return {"event_id": f"{visitor}-{user}", "visitor_id": visitor, "user_id": user, **bounds}


SPANS = (
    # one computer: ann until bob's visit, which is at the time of her last event
    span("pc", "ann", valid_to=LATE[0], to_event_id=LATE[1]),
    span("pc", "bob", valid_from=LATE[0], from_event_id=LATE[1]),
    span("phone", "bob"),
)
TOUCHES = (
    visit(EARLY[1], "pc", EARLY[0]),
    visit("hers", "pc", NOON),
    visit(LATE[1], "pc", LATE[0]),
    visit("phoned", "phone", NOON - 60 * MINUTE),
    visit("stranger", "kiosk", NOON),
)
THEIRS = ("visit-late", "visit-phoned")


def write_home(home: Path, credited: Iterable[str], spans: Iterable[Mapping[str, Any]] = SPANS) -> Settings:
    """A home in which bob orders at the computer, with linear credit for these touches."""
    settings = load_settings(home=home)
    credited = tuple(credited)
    order = {"conversion_id": "order", "visitor_id": "pc", "person_id": "bob", "converted_at": ORDERED}
    done = {"touches": len(credited), "is_counted": True, "rules_version": rules_version(settings.conf)}
    shared = {"conversion_id": "order", "model": "linear", "credit": 1 / max(len(credited), 1)}
    credits_ = [{**shared, "touch_id": touch} for touch in credited]
    tables = {"gold.touches": TOUCHES, "gold.conversions": [{**order, **done}], "gold.attribution": credits_}
    build_warehouse(home, tables)
    append_rows(home, "silver.identities", spans)
    return settings


def lacking(settings: Settings) -> str:
    """What the audit says of touches that lack credit."""
    (found,) = (each for each in audit_gold(settings) if each.what == "gold: credits are of all touches")
    return found.detail.partition(", ")[2]


def test_touch_of_another_person_at_a_shared_device_lacks_no_credit(tmp_path: Path) -> None:
    assert lacking(write_home(tmp_path, THEIRS)) == "0 wrong"


@pytest.mark.parametrize("left_out", THEIRS)
def test_touch_of_the_person_that_lacks_credit_is_found(left_out: str, tmp_path: Path) -> None:
    (credited,) = {*THEIRS} - {left_out}
    assert lacking(write_home(tmp_path, [credited])) == f"1 wrong: order/{left_out}"


def test_touches_of_a_home_without_user_ids_are_of_visitors(tmp_path: Path) -> None:
    home = write_home(tmp_path, ["visit-stranger"])
    shutil.rmtree(tmp_path / "warehouse/silver/identities")
    order = {"conversion_id": "kiosk", "visitor_id": "kiosk", "person_id": "kiosk", "converted_at": ORDERED}
    done = {"touches": 0, "is_counted": True, "rules_version": rules_version(home.conf)}
    append_rows(tmp_path, "gold.conversions", [{**order, **done}])
    assert lacking(home) == "1 wrong: kiosk/visit-stranger"


@pytest.mark.parametrize(("seen_by", "expected"), [("bob", "1 wrong: order/seen"), ("ann", "0 wrong")])
def test_view_through_is_of_whom_the_impression_was(
    seen_by: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = bundle_root()
    assert root is not None
    shutil.copytree(root / "conf", tmp_path / "bundle/conf")
    shutil.copy(root / BUNDLE_FILE, tmp_path / "bundle")
    rules = tmp_path / "bundle/conf/rules.yml"
    rules.write_text(rules.read_text().replace("view_through: false", "view_through: true"))
    monkeypatch.chdir(tmp_path / "bundle")
    home = write_home(tmp_path, [*THEIRS, "visit-viewed"])
    seen = {"event_id": "seen", "at": (LATE if seen_by == "bob" else EARLY)[0] + MINUTE}
    append_rows(tmp_path, "gold.touches", [visit("viewed", "pc", NOON + 2 * MINUTE, view=seen)])
    assert lacking(home) == expected
