"""docs/channels.md holds the figures that its commands give, and all channels that there are."""

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


def test_the_table_of_the_log_is_what_the_command_prints() -> None:
    if not REAL_LOG.is_file():
        pytest.skip(f"the real log is not there: {REAL_LOG}")
    assert "python -m benchmarks.channels " in DOCUMENT
    assert printed("benchmarks.channels", str(REAL_LOG)) in DOCUMENT


def test_the_table_of_hosts_is_what_the_command_prints() -> None:
    assert "python -m benchmarks.referrers" in DOCUMENT
    assert printed("benchmarks.referrers") in DOCUMENT


def test_the_list_is_named_with_its_date_and_commit() -> None:
    reported = yaml.safe_load((ROOT / "conf" / "referrers.yml").read_text(encoding="utf-8"))
    assert f"{reported['date']}, commit {reported['commit']}" in DOCUMENT


def test_the_document_has_each_channel() -> None:
    channels = {rule["channel"] for rule in RULES["rules"]} | {RULES["otherwise"]}
    table = DOCUMENT.partition("| channel | click id |")[2].partition("\n\n")[0]
    assert set(re.findall(r"^\| (\w[\w ]+) \|", table, re.MULTILINE)) == channels
