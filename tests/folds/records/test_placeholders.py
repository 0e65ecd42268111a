"""Placeholders are no ids; a number is the id of its digits."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from folds.records.placeholders import load_placeholders
from kit.parser import CONF, parse
from kit.records import message, record
from lakehouse.errors import MillraceError
from lakehouse.run.rules_version import rules_version

PLACEHOLDERS = yaml.safe_load((CONF / "identities.yml").read_text(encoding="utf-8"))["placeholders"]


def ids(anonymous: Any, user: Any) -> tuple[str | None, str | None, str | None]:
    """Rejection reason, visitor and user of a page view."""
    row = parse([record({**message("p", "v"), "anonymousId": anonymous, "userId": user})])[0]
    return row["reason"], row["visitor_id"], row["user_id"]


@pytest.mark.parametrize("placeholder", PLACEHOLDERS)
@pytest.mark.parametrize("write", [str, str.upper, str.title, "\t {}\u00a0\n".format])
def test_placeholder_is_missing(placeholder: str, write: Any) -> None:
    sent = write(placeholder)
    assert ids("v", sent) == (None, "v", None)
    assert ids(sent, "ann") == (None, "ann", "ann")
    assert ids(sent, sent) == ("no_identity", None, None)


@pytest.mark.parametrize("sent", [None, "", " ", "\u00a0", True, False, 0, -0.0, -1, -1.0])
def test_value_that_is_no_id_is_missing(sent: object) -> None:
    assert ids("v", sent) == (None, "v", None)
    assert ids(sent, None) == ("no_identity", None, None)


def test_list_is_that_of_the_contract() -> None:
    assert set(PLACEHOLDERS) == {
        *("null", "undefined", "none", "nil", "nan", "n/a", "[object object]", "true", "false", "0", "-1"),
        *("anonymous", "unknown", "anonymousid", "userid", "00000000-0000-0000-0000-000000000000"),
    }


@pytest.mark.parametrize("sent", ["42", "42.0", "4.2e1", '"42"', '" 42\\n"'])
def test_number_and_its_text_are_one_user(sent: str) -> None:
    assert ids("v", json.loads(sent)) == (None, "v", "42")
    body = '{"messageId": "p", "type": "page", "userId": %s}'
    assert parse([record(body % sent)])[0]["visitor_id"] == "42"


@pytest.mark.parametrize("sent", ["00", "0.5", "nobody", "null user", "\ufeff0", "a null", "nulls"])
def test_similar_text_is_an_id(sent: str) -> None:
    assert ids(sent, None) == (None, sent, None)


@given(st.text(max_size=6), st.sampled_from(["", " ", "\t\n"]))
def test_white_space_around_an_id_never_makes_another(sent: str, space: str) -> None:
    assert ids("v", f"{space}{sent}{space}") == ids("v", sent)


def test_placeholders_are_part_of_the_rules_version(tmp_path: Path) -> None:
    assert load_placeholders(tmp_path) == frozenset()
    (tmp_path / "identities.yml").write_text("placeholders: [Guest]\n")
    before = rules_version(tmp_path)
    assert load_placeholders(tmp_path) == {"guest"}
    (tmp_path / "identities.yml").write_text("placeholders: [Guest, nobody]\n")
    assert rules_version(tmp_path) != before
    assert load_placeholders(tmp_path) == {"guest", "nobody"}


def test_placeholders_that_are_not_valid_are_named(tmp_path: Path) -> None:
    (tmp_path / "identities.yml").write_text("placeholders: [null]\n")
    with pytest.raises(MillraceError, match=r"identities\.yml: placeholders"):
        load_placeholders(tmp_path)
