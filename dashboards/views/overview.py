"""Page Overview: current traffic and conversions, compared with the period before."""

from datetime import timedelta
from functools import partial

import data_source
import polars as pl
import streamlit as st
from charts import bar_charts, time_charts
from metrics import conversions, traffic
from period import Period
from query_scope import Scope
from tables.table_cache import Look
from widgets import layout, page
from widgets.layout import number_column, place_chart, place_table, text_column, time_column

_DAY = timedelta(days=1)
_HOUR = timedelta(hours=1)
Metric = tuple[str, str, str | None]


def body(look: Look, scope: Scope) -> None:
    """Show figures, events and conversions over time, channels, and the latest conversions."""
    before = Scope(scope.period.before, scope.channels)
    is_comparable = look.figure(traffic.is_comparable, scope, before)
    if look.sees("gold.traffic"):
        _figures(look, scope, before if is_comparable else None)
    now = look.figure(traffic.series, scope)
    then = look.figure(traffic.series, before)
    then = then if is_comparable else then.clear()
    shift = scope.period.start - before.period.start
    against = "the day before" if shift == _DAY else f"{round(shift / _DAY)} days before"
    then = then.with_columns(pl.col("start") + shift)
    layout.side_by_side(
        *(
            partial(
                place_chart,
                now if now[measure].sum() else now.clear(),
                partial(
                    time_charts.over_time,
                    measure=measure,
                    step=scope.period.step,
                    zone=scope.period.zone,
                    before=then,
                    against=against,
                ),
                layout.why_empty(look, f"No {measure} in this period.", f"gold.traffic.{measure}"),
            )
            for measure in ("events", "conversions")
        )
    )
    st.caption("Pale bars may still change: late events can reach them.")
    layout.side_by_side(partial(_channels, look, scope), partial(_latest, look, scope), widths=(1, 2))


def _figures(look: Look, scope: Scope, before: Scope | None) -> None:
    now = look.figure(traffic.totals, scope)
    then = None if before is None else look.figure(traffic.totals, before)
    number = layout.locale().number
    unvalued = f" {number(now.without_rate)} amounts have no exchange rate and are left out."
    is_day = scope.period.length <= _DAY
    against = "the same time the day before" if is_day else "as long a time before"

    def counted(name: str, meaning: str, digits: int = 0) -> Metric:
        value = getattr(now, name)
        change = None if then is None else _change(value, getattr(then, name))
        return number(value, digits), f"{meaning} Small print: against {against}.", change

    layout.metrics(
        {
            "Visitors, last hour": _visitors(look, scope),
            "Events": counted("events", "Events of people, copies left out."),
            "Sessions": counted("sessions", "Sessions started; one ends after `session_gap` without events."),
            "Conversions": counted("conversions", "Goals reached; an order counts once, a refund never."),
            f"Value ({data_source.CURRENCY})": counted(
                "reporting_value",
                "Worth of the conversions, refunds taken off." + (unvalued if now.without_rate else ""),
                2,
            ),
        }
    )


def _visitors(look: Look, scope: Scope) -> Metric:
    end = scope.period.end
    until = look.figure(traffic.extent)
    end = until[1] if until else end
    now = look.figure(traffic.visitors_in_the_hour, end, scope.channels)
    hour = Scope(Period(end - _HOUR, end), scope.channels)
    then = None
    if look.figure(traffic.is_comparable, hour, Scope(hour.period.before, scope.channels)):
        then = look.figure(traffic.visitors_in_the_hour, end - _DAY, scope.channels)
    meaning = "Different visitors in the hour up to the latest event. Small print: against the day before."
    if len(scope.channels) > 1:
        meaning += " Of several channels they can't be summed."
    return layout.locale().number(now), meaning, _change(now, then)


def _change(now: float | None, then: float | None) -> str | None:
    """The relative change in per cent; None if there was nothing before, or one of them is not known."""
    if now is None or then is None or then <= 0:
        return None
    change = (now - then) / then
    sign = "+" if change > 0 else "-" if change < 0 else "±"  # Streamlit's arrow needs an ASCII hyphen
    return f"{sign}{layout.locale().share(abs(change), 0)}"


def _channels(look: Look, scope: Scope) -> None:
    rows = look.figure(traffic.sessions_by_channel, scope)
    draw = partial(
        bar_charts.bars,
        label="channel",
        measure="sessions",
        heading="Sessions by channel",
        unit="sessions started",
        height=layout.TABLE_HEIGHT + 40,
    )
    nothing = layout.why_empty(look, "No sessions in this period.", "gold.traffic.sessions")
    shown = layout.shown_labels(rows.drop_nulls("sessions"), "channel")
    place_chart(shown, draw, nothing, layout.TABLE_HEIGHT + 40)


def _latest(look: Look, scope: Scope) -> None:
    columns = {
        "converted_at": time_column("Converted (UTC)"),
        "goal": text_column("Goal", 115),
        "order_id": text_column("Order", 95),
        "reporting_value": number_column(f"Value ({data_source.CURRENCY})", 2),
        "touches": number_column("Touches"),
        "person_id": text_column("Person", 90),
        "state": "State",
    }
    rows = look.figure(conversions.latest_conversions, scope)
    place_table(rows, columns, "conversions", heading="Latest conversions")


page.show(body)
