"""docs/channels.md holds the figures that its command gives."""

import subprocess
import sys

import pytest

from kit.home import REAL_LOG, ROOT


def test_the_table_of_the_document_is_what_the_command_prints() -> None:
    if not REAL_LOG.is_file():
        pytest.skip(f"the real log is not there: {REAL_LOG}")
    told = subprocess.run(
        [sys.executable, "-m", "benchmarks.channels", str(REAL_LOG)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    document = (ROOT / "docs" / "channels.md").read_text(encoding="utf-8")
    assert "python -m benchmarks.channels " in document
    assert told.stdout.strip() in document
