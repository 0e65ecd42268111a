"""The report's pages, made to need nothing but themselves: they ask no other host for anything."""

import html
import re
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import quote

_ELSEWHERE = re.compile(
    r"<(script|link|img)\b[^>]*(?:src|href)=[\"'](?:https?:)?//[^>]*>(?:\s*</script>)?", re.IGNORECASE
)
_STYLE = """<style>
body { font: 15px/1.5 system-ui, sans-serif; max-width: 76rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: .5rem 0 1.5rem; }
td, th { border: 1px solid #ccc; padding: .3rem .6rem; text-align: left; vertical-align: top; }
nav, .navbar, footer, .footer, form, button { display: none; }
.failed { color: #a4161a; font-weight: 600; } .met { color: #2b6a3f; } svg, img { max-height: 1.5rem; }
</style>"""


def make_local(folder: Path) -> None:
    """Take out of pages what they would fetch from other hosts, and give them a plain style."""
    for page in folder.rglob("*.html"):
        text = _ELSEWHERE.sub("", page.read_text(encoding="utf-8"))
        page.write_text(text.replace("</head>", f"{_STYLE}</head>", 1), encoding="utf-8")


def write_index(folder: Path, runs: Iterable[tuple[str, str, bool, str]]) -> None:
    """Make the first page: what was found of each suite at each run, the latest first.

    Args:
        folder: of the pages.
        runs: name of the run, name of the suite, whether all of it was met, and its page within the folder.
    """
    rows = "".join(
        f'<tr><td>{html.escape(run)}</td><td><a href="{quote(page)}">{html.escape(suite)}</a></td>'
        f'<td class="{"met" if met else "failed"}">{"met" if met else "failed"}</td></tr>'
        for run, suite, met, page in sorted(runs, key=lambda each: (each[0], not each[2]), reverse=True)
    )
    head = f"<head><meta charset='utf-8'><title>Quality of data</title>{_STYLE}</head>"
    table = f"<table><tr><th>Looked at (UTC)</th><th>Rows of</th><th>Expectations</th></tr>{rows}</table>"
    text = f"<!doctype html><html lang='en'>{head}<body><h1>Quality of data</h1>{table}</body></html>"
    (folder / "index.html").write_text(text, encoding="utf-8")
