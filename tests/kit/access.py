"""Policies of reading, and what a role may see, computed row by row."""

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
    """A bundle of its own with these rules of access; its conf folder."""
    shutil.copytree(ROOT / "conf", folder / "conf", dirs_exist_ok=True)
    shutil.copy(ROOT / "bundle.yml", folder / "bundle.yml")
    (folder / "conf" / "access.yml").write_text(text)
    return folder / "conf"


def policy(folder: Path, text: str = ROLES) -> Policy:
    """The policy of a text."""
    return load_policy(write_policy(folder, text), folder)


def hash_of(home: Path, value: str) -> str:
    """The hash of a value, by the key in the home."""
    key = bytes.fromhex((home / "serving" / "mask.key").read_text())
    return hmac.new(key, value.encode(), hashlib.sha256).hexdigest()[:32]


def passes(value: Any, condition: Any) -> bool:
    """Whether a value meets a condition of conf/access.yml, by the words of docs/access.md."""
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
    """Whether a row meets all conditions on its columns."""
    return row is not None and all(passes(row[column], each) for column, each in conditions.items())


def with_tokens(folder: Path, text: str = ROLES, **tokens: str) -> Path:
    """A bundle whose readers have tokens: by name the role. A token is its name and `-token`."""
    return write_policy(folder, f"{text}tokens: [{', '.join(_entry(*each) for each in tokens.items())}]\n")


def token_of(name: str) -> str:
    """The token of a name."""
    return f"{name}-token"


def _entry(name: str, role: str) -> str:
    return f"{{name: {name}, token_sha256: {digest_of(token_of(name))}, role: {role}}}"
