"""Reads the content of a page from Streamlit's AppTest."""

import polars as pl
from streamlit.testing.v1 import AppTest

MODELS = ("first", "last", "last_non_direct", "linear", "position_based", "time_decay")


def metrics(page: AppTest) -> dict[str, str]:
    """Metrics of the page, by label."""
    return {metric.label: metric.value for metric in page.metric}


def said(page: AppTest) -> str:
    """All markdown and text of the page."""
    kinds = (page.markdown, page.caption, page.title, page.subheader, page.text, page.code)
    return "\n".join(str(element.value) for kind in kinds for element in kind)


def number(text: str | None) -> float:
    """The number in a text in English format; nan for a missing text."""
    return float((text or "nan").replace(",", "").replace("−", "-").removesuffix("%"))


def chart_rows(page: AppTest, place: int, label: str, measure: str) -> dict[str, float]:
    """Data of a chart: measure by label."""
    chart = page.get("vega_lite_chart")[place].proto
    frame = pl.read_ipc_stream(chart.datasets[0].data.data)
    return dict(frame.select(label, measure).iter_rows())
