"""Programs of the system that some long tests run."""

import os
import shutil

import pytest


def required(name: str) -> str:
    """Path of a program. Without it the test is skipped, except in CI, where it fails."""
    found = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if found is None and not os.environ.get("CI"):
        pytest.skip(f"{name} is not installed on this machine")
    assert found, f"CI has no {name}: .ci/run is to install it"
    return found
