"""Where the page is, for tests that import from it or start it."""

from pathlib import Path

DASHBOARDS = Path(__file__).resolve().parents[2] / "dashboards"
