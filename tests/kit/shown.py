"""What a page shows, as its test runner tells it."""

import polars as pl
from streamlit.testing.v1 import AppTest

MODELS = ("first", "last", "last_non_direct", "linear", "position_based", "time_decay")


def metrics(page: AppTest) -> dict[str, str]:
    """Figures by their labels."""
    return {metric.label: metric.value for metric in page.metric}


def said(page: AppTest) -> str:
    """All that is rendered as markdown, or stands as text."""
    kinds = (page.markdown, page.caption, page.title, page.subheader, page.text, page.code)
    return "\n".join(str(element.value) for kind in kinds for element in kind)


def number(text: str | None) -> float:
    """A figure as it is written in English."""
    return float((text or "nan").replace(",", "").replace("−", "-").removesuffix("%"))


def chart_rows(page: AppTest, place: int, label: str, measure: str) -> dict[str, float]:
    """What a chart of the page draws: its data, by label."""
    chart = page.get("vega_lite_chart")[place].proto
    frame = pl.read_ipc_stream(chart.datasets[0].data.data)
    return dict(frame.select(label, measure).iter_rows())
