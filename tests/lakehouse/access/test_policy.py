"""conf/access.yml: validation, and the roles of access tokens and accounts."""

from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from kit.access import policy
from kit.home import ROOT
from lakehouse.access.masks import Mask
from lakehouse.access.policy import load_policy
from lakehouse.access.tokens import digest_of
from lakehouse.contracts import TABLES
from lakehouse.errors import MillraceError
from lakehouse.run.rules_version import rules_version

TOKEN = "a-token-of-the-tests-0123456789abcdef"
NEW_YEAR = datetime(2027, 1, 1, tzinfo=timezone.utc)
TOKENS = f"""
roles: {{analyst: {{tables: ["gold.*"]}}}}
tokens:
  - {{name: old, token_sha256: {digest_of(TOKEN)}, role: analyst, expires: 2027-01-01}}
  - {{name: bi, token_sha256: "{digest_of("other").upper()}", role: admin}}
"""


def role(text: str) -> str:
    return f"roles: {{a: {text}}}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- roles", "valid dictionary"),
        ("role: {}", "role: Extra inputs"),
        ("roles: {a: [", "no YAML in line 1"),
        (role("{tables: []}"), "roles.a.tables"),
        (role("{mask: {}}"), "roles.a.tables: Field required"),
        (role("{tables: [gold.*], colour: x}"), "roles.a.colour"),
        (
            role("{tables: [gold.funel]}"),
            "role a: tables: no table is named gold.funel; is gold.funnel meant",
        ),
        (
            role("{tables: [gold.*], mask: {visitor: hash}}"),
            "mask: no table of the role has a column visitor",
        ),
        (role("{tables: [gold.*], mask: {silver.events.url: hide}}"), "has a column silver.events.url"),
        (role("{tables: [gold.*], mask: {visitor_id: sha}}"), "roles.a.mask.visitor_id"),
        (role("{tables: [gold.*], mask: {conversion_id: hide}}"), "is part of the key: take hash"),
        (role("{tables: [gold.*], mask: {touch_id: null}}"), "gold.touches.touch_id is part of the key"),
        (role("{tables: [gold.*], mask: {credit: hash}}"), "credit is double, and only text can be hashed"),
        (
            role("{tables: [gold.*], rows: {silver.events: {url: [a]}}}"),
            "silver.events is no table of the role",
        ),
        (role("{tables: [gold.*], rows: {gold.funnel: {}}}"), "gold.funnel has no condition"),
        (role("{tables: [gold.*], rows: {gold.funnel: {steps: [a]}}}"), "gold.funnel has no column steps"),
        (
            role("{tables: [gold.*], rows: {gold.funnel: {step: visit}}}"),
            "gold.funnel.step: has to be a list",
        ),
        (role("{tables: [gold.*], rows: {gold.funnel: {step: []}}}"), "has to be a list"),
        (role("{tables: [gold.*], rows: {gold.funnel: {step: {is: a}}}}"), "there is no condition is"),
        (role("{tables: [gold.*], rows: {gold.funnel: {step: {not: a}}}}"), "not has to be a list"),
        (role("{tables: [gold.*], rows: {gold.funnel: {step: [1]}}}"), "1 is no string"),
        (role("{tables: [gold.*], rows: {gold.funnel: {visitors: [true]}}}"), "True is no bigint"),
        (role("{tables: [gold.*], rows: {gold.funnel: {visitors: {gt: null}}}}"), "None is no bigint"),
        (role("{tables: [gold.*], rows: {gold.funnel: {day: [2026]}}}"), "2026 is no date"),
        (role("{tables: [gold.*], rows: {gold.conversions: {value: [1.23456]}}}"), "does not fit decimal"),
        (role("{tables: [gold.*], rows: {gold.conversions: {visit: [a]}}}"), "can't be chosen by visit"),
        ("roles: {admin: {tables: [gold.*]}}", "role admin is built in"),
        ("local: nobody", "local has the role nobody, which is not declared"),
        ("accounts: {a@b.example: x}", "account a@b.example has the role x"),
        ("account_default: x", "account_default has the role x"),
        (TOKENS.replace("admin", "x"), "token bi has the role x"),
        (TOKENS.replace("bi", "old"), "token old is there twice"),
        (
            TOKENS.replace(digest_of("other").upper(), digest_of(TOKEN)),
            "token_sha256 of token bi is there twice",
        ),
        (TOKENS.replace(digest_of(TOKEN), "abc"), "tokens.0.token_sha256"),
        (TOKENS.replace("2027-01-01", "soon"), "has to be a day"),
    ],
)
def test_invalid_policy_is_rejected_on_load(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(MillraceError) as error:
        policy(tmp_path, text)
    assert message in str(error.value)
    assert str(error.value).startswith("conf/access.yml")


def test_yaml_error_does_not_quote_file_content(tmp_path: Path) -> None:
    with pytest.raises(MillraceError) as error:
        policy(tmp_path, "tokens: [secret: [")
    assert "secret" not in str(error.value)


def test_shipped_policy_declares_nobody() -> None:
    found = load_policy(ROOT / "conf", ROOT)
    assert found.local_role is None
    assert found.is_empty
    assert not found.is_default_declared
    assert (found.tokens, dict(found.accounts), list(found.roles)) == ((), {}, ["admin"])


@pytest.mark.parametrize("text", [None, "", "# nothing"])
def test_missing_or_empty_policy_gives_access_to_accounts_only(text: str | None, tmp_path: Path) -> None:
    found = policy(tmp_path, text or "")
    if text is None:
        (tmp_path / "conf" / "access.yml").unlink()
        found = load_policy(tmp_path / "conf", tmp_path)
    assert found.role_of_account("ann@example.com", is_allowed=False) is None
    account = found.role_of_account("ann@example.com", is_allowed=True)
    assert account is not None
    assert account.is_unrestricted
    assert found.local_role is None
    assert found.token("", NEW_YEAR) is None


@pytest.mark.parametrize(
    ("given", "now", "expected"),
    [
        (TOKEN, NEW_YEAR - timedelta(microseconds=1), "analyst"),
        (TOKEN, NEW_YEAR, None),
        ("other", NEW_YEAR, "admin"),
        (TOKEN[:-1], NEW_YEAR - timedelta(days=1), None),
        (digest_of(TOKEN), NEW_YEAR - timedelta(days=1), None),
        ("", NEW_YEAR - timedelta(days=1), None),
        ("\ud800", NEW_YEAR, None),
    ],
)
def test_access_token_has_role_until_it_expires(
    given: str, now: datetime, expected: str | None, tmp_path: Path
) -> None:
    found = policy(tmp_path, TOKENS).token(given, now)
    assert (found.role if found else None) == expected


@pytest.mark.parametrize(
    ("default", "email", "if_allowed", "without_list"),
    [
        ("", "ANN@example.com", "analyst", "analyst"),
        ("", "bob@example.com", "admin", None),
        ("", None, "admin", None),
        ("account_default: null", "bob@example.com", None, None),
        ("account_default: null", None, None, None),
        ("account_default: analyst", "bob@example.com", "analyst", "analyst"),
        ("account_default: admin", "bob@example.com", "admin", "admin"),
        ("account_default: null", "Ann@Example.com", "analyst", "analyst"),
    ],
)
def test_account_has_its_role_or_default_role(
    default: str, email: str | None, if_allowed: str | None, without_list: str | None, tmp_path: Path
) -> None:
    text = f"roles: {{analyst: {{tables: [gold.*]}}}}\naccounts: {{Ann@Example.com: analyst}}\n{default}"
    for is_allowed, expected in ((True, if_allowed), (False, without_list)):
        found = policy(tmp_path, text).role_of_account(email, is_allowed)
        assert (found.name if found else None) == expected


def test_role_has_only_tables_of_its_patterns(tmp_path: Path) -> None:
    found = policy(tmp_path, role("{tables: [gold.t*, silver.events]}")).role("a")
    assert set(found.tables) == {name for name in TABLES if name.startswith("gold.t")} | {"silver.events"}
    assert found.view(TABLES["bronze.kafka_records"]) is None
    with pytest.raises(MillraceError, match="there is no role b"):
        policy(tmp_path, role("{tables: [gold.*]}")).role("b")


def test_mask_of_one_table_overrides_mask_of_all_tables(tmp_path: Path) -> None:
    tables = "silver.events, silver.searches, gold.search_performance"
    own = "silver.events.query: hash, gold.search_performance.query: hash"
    text = role(f"{{tables: [{tables}], mask: {{{own}, query: hide}}}}")
    masks = policy(tmp_path, text).role("a").masks
    assert masks["silver.events"]["query"] is Mask.HASH
    assert masks["silver.searches"]["query"] is Mask.HIDE


def test_policy_change_keeps_rules_version(tmp_path: Path) -> None:
    policy(tmp_path, "local: admin")
    before = rules_version(tmp_path / "conf")
    policy(tmp_path, TOKENS)
    assert rules_version(tmp_path / "conf") == before


def test_roles_with_different_access_have_different_fingerprints(tmp_path: Path) -> None:
    texts = [
        "{tables: [gold.*]}",
        "{tables: [gold.funnel]}",
        "{tables: [gold.*], mask: {url: hide}}",
        "{tables: [gold.*], mask: {url: hash}}",
        "{tables: [gold.*], rows: {gold.funnel: {step: [visit]}}}",
        "{tables: [gold.*], rows: {gold.funnel: {step: {not: [visit]}}}}",
    ]
    prints = [policy(tmp_path, role(text)).role("a").fingerprint for text in texts]
    assert len(set(prints)) == len(texts)
    assert prints[-1] == policy(tmp_path, role(texts[-1])).role("a").fingerprint
