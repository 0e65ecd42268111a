"""The folder of the dashboard, its pages, and the digest that its screenshots were taken with."""

import hashlib
from pathlib import Path

DASHBOARDS = Path(__file__).resolve().parents[2] / "dashboards"
PICTURES = DASHBOARDS.parent / "docs" / "pictures"
PICTURED = PICTURES / "taken-of.sha256"
VIEWS = (
    "overview",
    "attribution",
    "conversion",
    "campaigns",
    "journeys",
    "audience",
    "cohorts",
    "orders",
    "windows",
    "quality",
    "pipeline",
)

THEMES = ("light", "dark")
SHEETS = ("empty", "minute-2", "minute-10")
"""Contact sheets of all pages: before the first event, and 2 and 10 minutes after the demo starts."""

_SEEN = ("*.py", "*.svg", "views/*.py", "charts/*.py", "widgets/*.py", ".streamlit/config.toml")
_NOT_SEEN = frozenset({"access.py", "run.py", "viewer.py"})
"""Start and login: they decide who sees the pages, and draw none that a picture shows."""


def digest_of_pages() -> str:
    """A digest of the files that affect how the pages look."""
    found = (file for pattern in _SEEN for file in DASHBOARDS.glob(pattern))
    files = sorted(file for file in found if file.name not in _NOT_SEEN)
    reported = hashlib.sha256()
    for file in files:
        reported.update(f"{file.relative_to(DASHBOARDS)}\0".encode() + file.read_bytes() + b"\0")
    return reported.hexdigest()
