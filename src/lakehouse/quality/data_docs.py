"""The first page of the report: failures of the last run, and results of earlier runs."""

import html
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote


@dataclass(frozen=True)
class ReportPage:
    """The result of validating one suite in one run.

    Args:
        run: name of the run: its time in UTC.
        suite: the suite's name.
        page: path of its page in the report.
        expectations: number of evaluated expectations.
        failed: id, severity, and percentage of violating rows (None if it has none) of failed expectations.
    """

    run: str
    suite: str
    page: str
    expectations: int
    failed: tuple[tuple[str, str, float | None], ...]

    @classmethod
    def read(cls, validation: Mapping[str, Any], page: str) -> "ReportPage":
        """Convert a validation result of Great Expectations."""
        failed = tuple(
            (
                meta["id"],
                meta.get("severity", ""),
                each["result"].get("unexpected_percent"),
            )
            for each in validation["results"]
            if not each["success"]
            for meta in [each["expectation_config"]["meta"]]
        )
        return cls(
            validation["meta"]["run_id"]["run_name"],
            validation["suite_name"],
            page,
            len(validation["results"]),
            failed,
        )


def write_index(folder: Path, pages: Iterable[ReportPage], style: str) -> None:
    """Write the first page.

    Args:
        folder: the folder of the pages.
        pages: results of all kept runs.
        style: the style sheet.
    """
    by_suite = sorted(pages, key=lambda each: (not each.failed, each.suite))
    by_age = sorted(by_suite, key=lambda each: each.run, reverse=True)
    last = [page for page in by_age if page.run == by_age[0].run]
    text = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Quality of data</title><style>{style}</style></head><body>
<header><h1>Quality of data</h1>{_summary(last)}</header>
<main>{_failures(last)}<h2>All evaluations</h2>{_runs(by_age)}</main></body></html>"""
    (folder / "index.html").write_text(text, encoding="utf-8")


def _summary(last: Sequence[ReportPage]) -> str:
    if not last:
        return "<p class='soft'>Nothing has been evaluated yet.</p>"
    every, failed = (
        sum(counts) for counts in zip(*((page.expectations, len(page.failed)) for page in last), strict=True)
    )
    figures = [
        ("", every, "expectations"),
        ("met", every - failed, "met"),
        ("failed" * bool(failed), failed, "failed"),
    ]
    cells = "".join(f"<div><b class='{name}'>{number}</b>{what}</div>" for name, number, what in figures)
    return (
        f"<p class='soft'>Last evaluated {html.escape(last[0].run)} UTC</p><div class='figures'>{cells}</div>"
    )


def _failures(last: Sequence[ReportPage]) -> str:
    rows = [
        f"<tr><td><a href='{quote(page.page)}'>{html.escape(name)}</a></td><td>{html.escape(severity)}</td>"
        f"<td class='number'>{'' if share is None else f'{share:.1f} %'}</td></tr>"
        for page in last
        for name, severity, share in page.failed
    ]
    if not rows:
        return ""
    head = "<tr><th>Expectation</th><th>Severity</th><th class='number'>Rows not as expected</th></tr>"
    return f"<h2>Failed in the last evaluation</h2><table>{head}{''.join(rows)}</table>"


def _runs(pages: Sequence[ReportPage]) -> str:
    rows = "".join(
        f"<tr><td>{html.escape(page.run)}</td>"
        f"<td><a href='{quote(page.page)}'>{html.escape(page.suite)}</a></td>"
        f"<td class='number'>{page.expectations}</td><td>{_result(page)}</td></tr>"
        for page in pages
    )
    head = "<tr><th>Evaluated (UTC)</th><th>Rows of</th><th class='number'>Expectations</th><th></th></tr>"
    return f"<table>{head}{rows}</table>"


def _result(page: ReportPage) -> str:
    return (
        f"<span class='failed'>✕ {len(page.failed)} failed</span>"
        if page.failed
        else "<span class='met'>✓ met</span>"
    )
