"""The filters. Their values are in the URL, so that a page can be shared, and are kept across pages."""

from datetime import date

import data_source
import streamlit as st
from metrics.campaigns import campaign_names, channel_names
from metrics.traffic import extent
from period import ALL, CHOICES, DATES, DEFAULT, Period, chosen_period
from query_scope import Scope
from tables.table_cache import Look

from widgets.formatting import plain_text

PERIOD, CHANNEL, CAMPAIGN, FROM, TO = "period", "channel", "campaign", "from", "to"

_USES = "filters-used"  # session state: the filters that the current page uses
_NOT_HERE = "Doesn't apply to this page."


def show(look: Look, uses: tuple[str, ...]) -> None:
    """Show the filters in one row. Filters that a page does not use are disabled, and not in its scope."""
    st.session_state[_USES] = uses
    ends = look.figure(extent)
    if ends is None or not uses:
        return
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        choice = st.segmented_control(
            "Period, back from the latest event",
            list(CHOICES),
            default=DEFAULT,
            required=True,
            key=PERIOD,
            bind="query-params",
            width="content",
            disabled=PERIOD not in uses,
            help=None if PERIOD in uses else _NOT_HERE,
        )
        if choice == DATES:
            days = Period(*ends, zone=data_source.ZONE).days
            _date("From", FROM, days, days[0])
            _date("To, included", TO, days, days[1])
        _several("Channel", CHANNEL, look.figure(channel_names), uses)
        _several("Campaign or promotion", CAMPAIGN, look.figure(campaign_names), uses)


def scope(look: Look) -> Scope | None:
    """The values of the filters that the page uses; None if there are no events yet.

    Filters that it does not use keep their values for other pages, and select everything here.
    """
    ends = look.figure(extent)
    if ends is None:
        return None
    uses = st.session_state[_USES]
    choice = (st.session_state.get(PERIOD) or DEFAULT) if PERIOD in uses else ALL
    dates = tuple(sorted(day for day in map(st.session_state.get, (FROM, TO)) if isinstance(day, date)))
    period = chosen_period(choice, *ends, data_source.ZONE, dates if choice == DATES else ())
    channels, campaigns = (
        tuple(sorted(st.session_state.get(key) or ())) if key in uses else () for key in (CHANNEL, CAMPAIGN)
    )
    return Scope(period, channels, campaigns)


def _date(label: str, key: str, days: tuple[date, date], default: date) -> None:
    st.date_input(
        label,
        value=default,
        min_value=days[0],
        max_value=days[1],
        key=key,
        bind="query-params",
        format="YYYY-MM-DD",
        width=120,
    )


def _several(label: str, key: str, names: list[str], uses: tuple[str, ...]) -> None:
    st.multiselect(
        label,
        names,
        key=key,
        bind="query-params",
        format_func=plain_text,
        placeholder="All",
        disabled=key not in uses,
        help=None if key in uses else _NOT_HERE,
        width=190,
    )
