"""What `context.consent` states of each purpose, by conf/consent.yml: values, paths and the file's checks."""

from pathlib import Path
from typing import Any

import pytest
from msgspec import Raw, json

from folds.consent_rules import ALL_GRANTED, NOTHING_STATED, Stated, load_consent_rules
from kit.oracle_consents import stated
from kit.oracle_wire import parse_object
from kit.parser import CONF
from lakehouse.errors import MillraceError

RULES = load_consent_rules(CONF)
CASES: dict[str, tuple[Any, Stated]] = {
    "tracker": ({"categoryPreferences": {"analytics": True}}, Stated(analytics=True)),
    "Segment": (
        {"categoryPreferences": {"Advertising": False, "Analytics": True, "Functional": True}},
        Stated(analytics=True, ads=False),
    ),
    "Google": ({"analytics_storage": "denied", "ad_storage": "GRANTED "}, Stated(analytics=False, ads=True)),
    "numbers": ({"analytics": 1, "attribution": 0.0}, Stated(analytics=True, attribution=False)),
    "first path that says something": (
        {"categoryPreferences": {"analytics": "ask", "Analytics": "no"}, "analytics": True},
        Stated(analytics=False),
    ),
    "odd values": ({"analytics": None, "attribution": {}, "ads": "", "categoryPreferences": 7}, Stated()),
    "text": ("granted", NOTHING_STATED),
    "a list": ([True], NOTHING_STATED),
    "a TCF string": ({"tcf": "CPXxRfAPXxRfAAfKABENB-CgAAAAAAAAAAYgAAAAAAAA"}, NOTHING_STATED),
}


@pytest.mark.parametrize("case", CASES)
def test_statements_are_read_by_purpose(case: str) -> None:
    consent, expected = CASES[case]
    sent = json.encode(consent)
    assert RULES.read(Raw(sent)) == expected
    body = parse_object(b'{"consent": ' + sent + b"}")
    assert body is not None
    assert tuple(stated(body["consent"]).values()) == expected


def test_all_purposes_are_granted_by_default() -> None:
    assert (RULES.defaults, RULES.withdraws_all) == (ALL_GRANTED, False)


def test_without_the_file_nothing_is_read_and_all_is_granted(tmp_path: Path) -> None:
    rules = load_consent_rules(tmp_path)
    assert (rules.read(Raw(b'{"analytics": false}')), rules.defaults) == (NOTHING_STATED, ALL_GRANTED)


@pytest.mark.parametrize(
    "text",
    [
        "withdrawn: never",
        "purposes: {marketing: {}}",
        "purposes: {ads: {default: maybe}}",
        "purposes: {ads: {path: [a]}}",
        "granted: yes",
    ],
)
def test_unknown_names_and_values_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "consent.yml").write_text(text)
    with pytest.raises(MillraceError, match=r"consent\.yml"):
        load_consent_rules(tmp_path)
