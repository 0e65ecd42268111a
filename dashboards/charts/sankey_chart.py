"""A Sankey diagram of the last touches before a conversion, drawn with area marks."""

import altair as alt
import polars as pl
from metrics.journeys import CONVERTED

from charts.axes import title
from charts.bar_charts import TALL
from charts.palette import Palette

_CURVE = 24  # points along a ribbon
_BAR = 0.035  # width of a node, relative to the distance between two steps
_GAP = 0.018  # between nodes, relative to the height
_STEPS = ("conversion", "last touch", "second to last", "third to last")


def flow(rows: pl.DataFrame, palette: Palette) -> alt.LayerChart:
    """Ribbons from channel to channel to conversion. Their thickness is the number of conversions.

    Args:
        rows: `flow` of `metrics.journeys.Journeys`.
        palette: colours of the theme.
    """
    nodes = _nodes(rows)
    channels = sorted({name for _, name in nodes if name != CONVERTED})
    colours = alt.Scale(domain=[*channels, CONVERTED], range=[*palette.of_channels(channels), palette.text])
    colour = alt.Color("source:N", scale=colours, legend=None)
    deepest = max(step for step, _ in nodes)
    x = alt.X("x:Q", axis=None, scale=alt.Scale(domain=[-deepest - 0.05, 0.42], nice=False))
    y = alt.Y("low:Q", axis=None, scale=alt.Scale(domain=[-0.03, 1.06], nice=False))
    tips = [alt.Tooltip("details:N", title="way"), alt.Tooltip("conversions:Q", format=",d")]
    ribbons = (
        alt.Chart(_ribbons(rows, nodes))
        .mark_area(opacity=0.45, interpolate="monotone")
        .encode(x=x, y=y, y2="high:Q", detail="ribbon:N", color=colour, tooltip=tips)
    )
    boxes = alt.Chart(_boxes(nodes))
    bars = boxes.mark_rect().encode(x=x, x2="right:Q", y=y, y2="high:Q", color=colour, tooltip=tips)
    names = (
        boxes.transform_filter("datum.high - datum.low > 0.02")
        .mark_text(align="left", dx=4, color=palette.text, fontSize=12, limit=130)
        .encode(x=alt.X("right:Q", axis=None), y=alt.Y("middle:Q", axis=None), text="source:N")
    )
    heads = (
        alt.Chart(
            pl.DataFrame(
                {"x": [-float(step) for step in range(deepest + 1)], "details": _STEPS[: deepest + 1]}
            )
        )
        .mark_text(align="left", color=palette.quiet, fontSize=12)
        .encode(x=x, y=alt.YDatum(1.04, type="quantitative"), text="details:N")
    )
    layers = alt.layer(ribbons, bars, names, heads)
    return layers.properties(title=title("The last steps to a conversion"), height=TALL)


def _nodes(rows: pl.DataFrame) -> dict[tuple[int, str], tuple[float, float, int]]:
    """Bottom, top and conversions of each node, by step and channel. Nodes of a step are stacked."""
    counted: dict[tuple[int, str], int] = {(0, CONVERTED): 0}
    for step, source, _, count in rows.iter_rows():
        counted[step + 1, source] = counted.get((step + 1, source), 0) + count
        if step == 0:
            counted[0, CONVERTED] += count
    whole = max(counted[0, CONVERTED], 1)
    room = 1 - _GAP * max(sum(1 for at, _ in counted if at == step) - 1 for step in range(4))
    placed: dict[tuple[int, str], tuple[float, float, int]] = {}
    level: dict[int, float] = {}
    for (step, name), count in sorted(counted.items(), key=lambda each: (each[0][0], each[1], each[0][1])):
        low = level.get(step, 0.0)
        placed[step, name] = (low, low + room * count / whole, count)
        level[step] = placed[step, name][1] + _GAP
    return placed


def _ribbons(rows: pl.DataFrame, nodes: dict[tuple[int, str], tuple[float, float, int]]) -> pl.DataFrame:
    left, right = ({key: low for key, (low, _, _) in nodes.items()} for _ in range(2))
    points = []
    ordered = sorted(
        rows.iter_rows(), key=lambda row: (row[0], nodes[row[0], row[2]][0], nodes[row[0] + 1, row[1]][0])
    )
    for number, (step, source, target, count) in enumerate(ordered):
        begin, end = (step + 1, source), (step, target)
        low, high, all_of = nodes[begin]
        thick = (high - low) * count / all_of
        for at in range(_CURVE + 1):
            part = at / _CURVE
            bend = part * part * (3 - 2 * part)
            base = left[begin] + (right[end] - left[begin]) * bend
            points.append(
                (
                    number,
                    -step - 1 + _BAR + part * (1 - _BAR),
                    base,
                    base + thick,
                    source,
                    f"{source} → {target}",
                    count,
                )
            )
        left[begin] += thick
        right[end] += thick
    names = ("ribbon", "x", "low", "high", "source", "details", "conversions")
    return pl.DataFrame(points, schema=names, orient="row")


def _boxes(nodes: dict[tuple[int, str], tuple[float, float, int]]) -> pl.DataFrame:
    found = [
        (-float(step), -float(step) + _BAR, low, high, (low + high) / 2, name, name, count)
        for (step, name), (low, high, count) in nodes.items()
    ]
    names = ("x", "right", "low", "high", "middle", "source", "details", "conversions")
    return pl.DataFrame(found, schema=names, orient="row")
