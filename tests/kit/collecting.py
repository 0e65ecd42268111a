"""Runs a collector as a process of its own, and reads what it forwarded."""

import json
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kit.home import ROOT, Home, command
from kit.polling import eventually
from kit.sending import in_topic
from kit.serving import answers


@contextmanager
def collector(home: Home, port: int) -> Iterator[subprocess.Popen[bytes]]:
    """A collector that answers; killed at the end of the block."""
    log = (home.path / "collect.log").open("ab")
    with log:
        process = subprocess.Popen(
            command("collect", "--port", str(port)), env=home.env, cwd=ROOT, stdout=log, stderr=log
        )
        try:
            eventually(lambda: answers(f"http://127.0.0.1:{port}/health"), 30, "the collector answers")
            yield process
        finally:
            process.kill()
            process.wait()


def values_in(home: Home) -> list[dict[str, Any]]:
    """All events in the topic."""
    return [json.loads(record.value) for record in in_topic(home.settings)]


def health(port: int) -> dict[str, Any]:
    """What the collector says of itself."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=10) as answer:
        found: dict[str, Any] = json.load(answer)
    return found
