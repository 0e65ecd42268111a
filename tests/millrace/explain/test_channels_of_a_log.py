"""docs/channels.md has the figures that its commands print, and every channel."""

import re
import subprocess
import sys

import pytest
import yaml

from kit.home import REAL_LOG, ROOT

DOCUMENT = (ROOT / "docs" / "channels.md").read_text(encoding="utf-8")
RULES = yaml.safe_load((ROOT / "conf" / "channels.yml").read_text(encoding="utf-8"))


def printed(module: str, *arguments: str) -> str:
    command = [sys.executable, "-m", module, *arguments]
    reported = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return reported.stdout.strip()


def test_channel_table_of_document_equals_command_output() -> None:
    if not REAL_LOG.is_file():
        pytest.skip(f"the real log is not there: {REAL_LOG}")
    assert "python -m benchmarks.channels " in DOCUMENT
    assert printed("benchmarks.channels", str(REAL_LOG)) in DOCUMENT


def test_referrer_table_of_document_equals_command_output() -> None:
    assert "python -m benchmarks.referrers" in DOCUMENT
    assert printed("benchmarks.referrers") in DOCUMENT


def test_document_names_date_and_commit_of_referrer_list() -> None:
    reported = yaml.safe_load((ROOT / "conf" / "referrers.yml").read_text(encoding="utf-8"))
    assert f"{reported['date']}, commit {reported['commit']}" in DOCUMENT


def test_document_lists_every_channel() -> None:
    channels = {rule["channel"] for rule in RULES["rules"]} | {RULES["otherwise"]}
    table = DOCUMENT.partition("| channel | click id |")[2].partition("\n\n")[0]
    assert set(re.findall(r"^\| (\w[\w ]+) \|", table, re.MULTILINE)) == channels
