"""The top of the page: what it is, and how far the figures reach."""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

import streamlit as st
from freshness import CATCHING_UP, LIVE, NO_DATA, STALE, Progress, ago, state

_COLOURS: dict[str, Literal["green", "blue", "orange", "gray"]] = {
    LIVE: "green",
    CATCHING_UP: "blue",
    STALE: "orange",
    NO_DATA: "gray",
}
_MEANINGS = {
    LIVE: "What has arrived is in these figures, give or take a few seconds.",
    CATCHING_UP: "More has arrived than is in these figures yet.",
    STALE: "No micro-batch for over two minutes: nothing has arrived, or the pipeline is not running.",
    NO_DATA: "No event has reached silver.",
}
_FIRST_STEPS = """\
millrace produce                      sample traffic
millrace load FILE --format segment   your own events"""


def show(progress: Progress, events: int, now: datetime) -> None:
    """Name, state, and how far the figures reach."""
    word = state(progress, events, now)
    left, right = st.columns([2, 3], vertical_alignment="bottom")
    with left, st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        st.title("Millrace", anchor=False, width="content")
        st.badge(word, color=_COLOURS[word], help=_MEANINGS[word])
    with right, st.container(horizontal=True, horizontal_alignment="right", gap="large"):
        _fact("Complete up to (watermark)", _utc(progress.watermark))
        _fact("Last micro-batch", ago(progress.last_batch_at, now) if progress.last_batch_at else "none")
        _fact("Rows in silver.events", f"{events:,}")


def nothing_yet(records: int) -> None:
    """What the page says before the first event."""
    with st.container(border=True, horizontal_alignment="center"):
        st.subheader("No events yet", anchor=False, text_alignment="center")
        if records:
            st.text(f"{records:,} records have arrived and are being refined.")
        else:
            st.text("This page fills by itself as soon as the first ones arrive.")
            st.code(_FIRST_STEPS, language=None, width="content")


def period_selector(choices: Sequence[str], default: str) -> str:
    """The period asked for, which is in the address too."""
    chosen: str = st.segmented_control(
        "Period, back from the latest event",
        choices,
        default=default,
        required=True,
        key="period",
        bind="query-params",
    )
    return chosen


def footnote(unreadable: Sequence[str]) -> None:
    """What holds for the whole page."""
    st.caption("All times are UTC. Pale bars may still change: late events can reach them.")
    if unreadable:
        st.text(f"Could not be read just now, so figures may be older: {', '.join(unreadable)}")


def _fact(label: str, value: str) -> None:
    with st.container(width="content", gap=None):
        st.caption(label)
        st.text(value)


def _utc(instant: datetime | None) -> str:
    return "not yet" if instant is None else f"{instant:%Y-%m-%d %H:%M:%S} UTC"
