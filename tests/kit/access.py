"""Access policies, and a row-by-row reference for the rows that a role may read."""

import hashlib
import hmac
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kit.home import ROOT
from lakehouse.access.policy import Policy, load_policy
from lakehouse.access.tokens import digest_of

ROLES = """
roles:
  analyst:
    tables: ["silver.*", "gold.*"]
    mask: {visitor_id: hash, order_id: hide, refund_id: "null"}
    rows: {gold.attribution: {channel: [Email, Paid Search]}}
  marketing:
    tables: [gold.attribution, gold.traffic, gold.conversions, silver.sessions]
    mask: {gold.conversions.value: hide, person_id: hash}
    rows: {gold.attribution: {channel: {not: [Direct]}, credit: {gte: 0.2}}}
account_default: null
local: admin
"""


def write_policy(folder: Path, text: str = ROLES) -> Path:
    """Write a bundle with an access policy. Returns its conf folder."""
    shutil.copytree(ROOT / "conf", folder / "conf", dirs_exist_ok=True)
    shutil.copy(ROOT / "bundle.yml", folder / "bundle.yml")
    (folder / "conf" / "access.yml").write_text(text)
    return folder / "conf"


def policy(folder: Path, text: str = ROLES) -> Policy:
    """The policy parsed from YAML text."""
    return load_policy(write_policy(folder, text), folder)


def hash_of(home: Path, value: str) -> str:
    """The masked hash of a value, with the mask key of the home."""
    key = bytes.fromhex((home / "serving" / "mask.key").read_text())
    return hmac.new(key, value.encode(), hashlib.sha256).hexdigest()[:32]


def passes(value: Any, condition: Any) -> bool:
    """Whether a value meets a row filter of conf/access.yml, as defined in docs/access.md."""
    if isinstance(condition, list):
        return value in condition
    if value is None:
        return False
    compared = {
        "not": lambda other: value not in other,
        "gte": lambda other: value >= other,
        "gt": lambda other: value > other,
        "lte": lambda other: value <= other,
        "lt": lambda other: value < other,
    }
    return all(compared[name](other) for name, other in condition.items())


def visible(row: Mapping[str, Any] | None, conditions: Mapping[str, Any]) -> bool:
    """Whether a row passes the row filters of all its columns."""
    return row is not None and all(passes(row[column], each) for column, each in conditions.items())


def with_tokens(folder: Path, text: str = ROLES, **tokens: str) -> Path:
    """Write a bundle with access tokens, given as name=role; the token of a name is `<name>-token`."""
    return write_policy(folder, f"{text}tokens: [{', '.join(_entry(*each) for each in tokens.items())}]\n")


def token_of(name: str) -> str:
    """The access token with a name."""
    return f"{name}-token"


def _entry(name: str, role: str) -> str:
    return f"{{name: {name}, token_sha256: {digest_of(token_of(name))}, role: {role}}}"
