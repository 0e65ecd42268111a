"""Page Orders: orders of events against orders of the shop's database."""

from functools import partial

import streamlit as st
from charts import bar_charts, time_charts
from metrics.orders import DIFFERENCES, NEEDED, Orders, orders
from query_scope import Scope
from tables.table_cache import Look
from widgets import layout, page
from widgets.layout import number_column, place_chart, place_table, text_column, time_column

_NOTHING = (
    "No orders of the shop's database on these days.\n"
    "Missing: a source in conf/shop.yml that is captured; see docs/shop.md."
)
_NONE_DIFFERS = "All orders of these days agree."


def body(look: Look, scope: Scope) -> None:
    """Show how many orders agree, the share that does not by day, and each one that differs."""
    found = look.figure(orders, scope)
    if not look.sees(*NEEDED) or not (found.compared or found.older):
        layout.say_nothing(layout.why_empty(look, _NOTHING, *NEEDED), bar_charts.TALL)
        return
    first, last = scope.period.days
    st.caption(
        f"Counted by whole days, {first:%-d %b %Y} to {last:%-d %b %Y}, in the time zone {scope.period.zone}."
    )
    _figures(found)
    differing = found.by_difference.filter(found.by_difference["orders"] > 0)
    names = differing["difference"].to_list()
    how = partial(
        bar_charts.bars, label="difference", measure="orders", heading="Orders that differ", unit="orders"
    )
    by_day = partial(
        time_charts.lines,
        x="day",
        y="share",
        series="difference",
        names=names,
        heading="By day: share of the day's orders",
        unit="share",
        format_=".1%",
    )
    daily = found.daily.filter(found.daily["difference"].is_in(names))
    layout.side_by_side(
        partial(place_chart, differing, how, _NONE_DIFFERS),
        partial(place_chart, daily, by_day, _NONE_DIFFERS),
        widths=(2, 3),
    )
    _table(found)


def _figures(found: Orders) -> None:
    number, share = layout.locale().number, layout.locale().share
    differ = int(found.by_difference["orders"].sum())
    layout.metrics(
        {
            "Orders": (number(found.compared), "Of events, of the shop's database, or of both."),
            "Agree": (
                share(1 - differ / found.compared if found.compared else None),
                "One event, with the value and currency that the shop has now.",
            ),
        }
    )
    layout.metrics(
        {name.capitalize(): (number(count), DIFFERENCES[name]) for name, count in found.by_difference.rows()}
    )
    if found.older:
        st.caption(
            f"{number(found.older)} orders of the first snapshot have no event. They may be older than the "
            "tracking, and are not compared."
        )


def _table(found: Orders) -> None:
    columns = {
        "ordered_at": time_column("When (UTC)"),
        "order_id": text_column("Order", 150),
        "difference": text_column("Difference", 130),
        "events": number_column("Events"),
        "value": number_column("Value by event", 2),
        "currency": "Currency",
        "shop_value": number_column("Value in the shop", 2),
        "shop_currency": text_column("Currency there"),
        "status": text_column("Status", meaning="In the shop, now"),
    }
    place_table(
        found.different,
        columns,
        "orders",
        heading="Each order that differs",
        height=layout.fitting(found.different, bar_charts.TALL),
        otherwise=_NONE_DIFFERS,
    )


page.show(body)
