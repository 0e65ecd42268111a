"""What Java writes goes to the log, not to the output of the command that has started it."""

import subprocess
import sys
from pathlib import Path

import pytest

from millrace.local.process.pyspark_launch import output_to


def test_output_of_processes_started_in_the_block_goes_to_the_file(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "spark.log"
    with output_to(log):
        process = subprocess.Popen(["sh", "-c", "read _; echo out; echo err >&2"], stdin=subprocess.PIPE)
    sys.stdout.write("2026-0001\n")
    process.communicate(b"\n")
    assert log.read_text() == "out\nerr\n"
    assert capfd.readouterr() == ("2026-0001\n", "")
