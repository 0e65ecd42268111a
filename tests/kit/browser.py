"""A real browser for the tests marked `browser`."""

import os
import shutil

import pytest

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
_NAMES = ("chromium", "chromium-browser", "google-chrome")


def chromium() -> str:
    """Path of the system's Chromium. Without one the test is skipped, except in CI, where it fails."""
    found = next((path for path in map(shutil.which, _NAMES) if path), None)
    if found is None and not os.environ.get("CI"):
        pytest.skip(f"no browser on this machine: install one of {', '.join(_NAMES)}")
    assert found, "CI has no browser: .ci/run is to install chromium"
    return found
