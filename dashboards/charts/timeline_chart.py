"""A timeline of a conversion: its touches by channel, and the trail of events to the goal."""

import altair as alt
import polars as pl
from metrics.story import Story
from widgets.formatting import plain

from charts.axes import title
from charts.palette import Palette

HEIGHT = 255
_ROWS = ["view", "impression", "click", "visit", "campaign", "page view", "goal"]


def time_line(story: Story, palette: Palette) -> alt.LayerChart:
    """One mark per event. Events of the trail are connected by a line."""
    points = _points(story)
    channels = sorted({name for name in points["channel"] if name})
    colours = alt.Scale(domain=channels, range=palette.of_channels(channels))
    x = alt.X("at:T", title="time (UTC)", scale=alt.Scale(type="utc", padding=24), axis=_axis())
    y = alt.Y("kind:N", title=None, sort=_ROWS, scale=alt.Scale(domain=_ROWS), axis=alt.Axis(grid=True))
    base = alt.Chart(points)
    line = (
        base.transform_filter("datum.trail")
        .mark_line(color=palette.conversions, strokeDash=[4, 3])
        .encode(x=x, y=y, order="order:Q")
    )
    tips = [
        alt.Tooltip("when:N", title="when (UTC)"),
        alt.Tooltip("kind:N", title="what"),
        alt.Tooltip("channel:N", title="channel"),
        alt.Tooltip("details:N", title="of"),
    ]
    touches = (
        base.transform_filter("!datum.trail")
        .mark_circle(size=140, opacity=0.95)
        .encode(
            x=x,
            y=y,
            color=alt.Color(
                "channel:N",
                scale=colours,
                legend=alt.Legend(title=None, orient="top", offset=4, symbolType="circle"),
            ),
            tooltip=tips,
        )
    )
    trail = (
        base.transform_filter("datum.trail")
        .mark_point(size=230, shape="diamond", filled=False, strokeWidth=2, color=palette.conversions)
        .encode(x=x, y=y, tooltip=tips)
    )
    layers = alt.layer(line, touches, trail)
    return layers.properties(
        title=title("Touches (circles), and the trail to the goal (diamonds)"), height=HEIGHT
    )


def _points(story: Story) -> pl.DataFrame:
    found = []
    for touch in story.touches:
        kind = story.kinds.get(touch["touch_id"], "visit")
        details = touch["campaign_name"] or touch["promotion_id"] or ""
        found.append((touch["touched_at"], kind, touch["channel"], details, False, 0))
    for step in story.trail:
        details = step["promotion_id"] or step["url"] or ""
        found.append((step["at"], step["kind"].replace("_", " "), None, details, True, step["step"]))
    if not any(kind == "goal" for _, kind, *_ in found):
        details = story.conversion
        found.append((details["converted_at"], "goal", None, details["goal"], True, 99))
    schema = {
        "at": pl.Datetime("us", "UTC"),
        "kind": pl.String,
        "channel": pl.String,
        "details": pl.String,
        "trail": pl.Boolean,
        "order": pl.Int64,
    }
    frame = pl.DataFrame(found, schema=schema, orient="row")
    return frame.with_columns(
        plain("details"), plain("channel"), pl.col("at").dt.strftime("%-d %b %Y %H:%M:%S").alias("when")
    )


def _axis() -> alt.Axis:
    words = (
        "utcFormat(datum.value, utchours(datum.value) + utcminutes(datum.value) ? '%-d %b %H:%M' : '%-d %b')"
    )
    return alt.Axis(labelExpr=words, grid=False, tickCount=6, titlePadding=6, labelOverlap=True)
