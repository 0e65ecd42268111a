"""The header of every page: title, freshness of the figures, state of the gate."""

from datetime import datetime, timezone
from typing import Literal

import data_source
import streamlit as st
from tables.table_cache import Look

from widgets import layout
from widgets.formatting import ago, plain_text, utc
from widgets.freshness import CATCHING_UP, IDLE, LIVE, NO_DATA, STALE, Progress, progress, state
from widgets.gate_state import CLOSED, NO_GATES, OPEN, Gates, read_gates

Colour = Literal["green", "blue", "orange", "gray", "red"]

REFRESH_SECONDS = 2.5

_COLOURS: dict[str, Colour] = {
    LIVE: "green",
    IDLE: "gray",
    CATCHING_UP: "blue",
    STALE: "orange",
    NO_DATA: "gray",
    OPEN: "green",
    CLOSED: "red",
    NO_GATES: "gray",
}
_ICONS = {
    LIVE: ":material/bolt:",
    IDLE: ":material/bedtime:",
    CATCHING_UP: ":material/hourglass_top:",
    STALE: ":material/pause_circle:",
    NO_DATA: ":material/inbox:",
    OPEN: ":material/lock_open:",
    CLOSED: ":material/lock:",
    NO_GATES: ":material/remove:",
}
_MEANINGS = {
    LIVE: "What arrived until a minute ago is in these figures.",
    CATCHING_UP: "More has arrived than is in these figures yet.",
    IDLE: "All that has arrived is in these figures. Nothing has arrived for over two minutes.",
    STALE: "No micro-batch for over two minutes: the jobs do not run, or one of them hangs.",
    NO_DATA: "No event has reached silver.",
    OPEN: "The latest rows met the expectations.",
    CLOSED: "Expectations refused what came last: gold stays as it was until it is released.",
    NO_GATES: "No expectations have been evaluated on these tables yet.",
}
_FIRST_STEPS = """\
millrace produce                      sample traffic
millrace load FILE --format segment   your own events"""


_STATE = ("ops.ledger", "ops.gates", "ops.expectations", "silver.events")  # what the badges are read from


@st.fragment(run_every=REFRESH_SECONDS)
def show(title: str) -> None:
    """Show title, freshness and gate, with a warning if figures are stale or the gate is closed."""
    look = data_source.lake().look()
    if not all(map(look.shows, _STATE)):
        st.title(title, anchor=False, width="content")
        st.caption(f"Arrived until {_as_of(look.position, datetime.now(timezone.utc))}")
        return
    now = datetime.now(timezone.utc)
    reached, gates = look.figure(progress, look.position), look.figure(read_gates)
    events = _rows(look, "silver.events")
    word = state(reached, events, now, data_source.is_running())
    left, right = st.columns([5, 4], vertical_alignment="bottom")
    with left, st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.title(title, anchor=False, width="content")
        for each in (word, gates.word):
            st.badge(each, icon=_ICONS[each], color=_COLOURS[each], help=_MEANINGS[each])
    with right, st.container(horizontal=True, horizontal_alignment="right", gap="large"):
        _fact("Complete up to (watermark)", utc(reached.watermark))
        _fact("Arrived until", _as_of(look.position, now))
    _warn(word, gates, reached, now)


def nothing_yet(look: Look) -> None:
    """Show a message instead of the page, before the first event or for a role that sees no windows."""
    if look.role is not None:
        st.text(
            f"The role {look.role} sees no rows of gold.traffic or silver.sessions, from which this page"
            " takes its period. Either nothing has arrived yet, or conf/access.yml leaves them out."
        )
        return
    records = _rows(look, "bronze.kafka_records")
    with st.container(border=True, horizontal_alignment="center"):
        st.subheader("No events yet", anchor=False, text_alignment="center")
        if records:
            st.text(f"{layout.locale().number(records)} records have arrived and are being refined.")
        else:
            st.text("This page fills by itself as soon as the first ones arrive.")
            st.code(_FIRST_STEPS, language=None, width="content")


def footnote(look: Look) -> None:
    """Show the footnote of a page: time zone, the viewer's role, and tables that could not be read."""
    st.caption("All times are UTC.")
    if look.role is not None:
        st.text(f"Shown as the role {look.role} may see it: rows may be left out, and values masked.")
    if look.not_shown:
        st.text(f"Not there for this role, so without figures: {', '.join(sorted(look.not_shown))}")
    if look.unreadable:
        st.text(f"Could not be read just now, so figures may be older: {', '.join(sorted(look.unreadable))}")


def _warn(word: str, gates: Gates, reached: Progress, now: datetime) -> None:
    if gates.word == CLOSED:
        since = f" since {utc(gates.since)}" if gates.since else ""
        with st.container(border=True, gap="small"):
            st.markdown(
                f":red-badge[:material/lock: Gate closed]{since}: gold shows what was let through before."
            )
            st.text(f"Why: {'; '.join(map(plain_text, gates.reasons[:5])) or 'not said'}")
            st.page_link("views/quality.py", label="See what was refused", icon=":material/arrow_forward:")
    if word == STALE and reached.last_batch_at is not None:
        with st.container(border=True):
            st.markdown(
                f":orange-badge[:material/pause_circle: Stale] The last micro-batch ended "
                f"{ago(reached.last_batch_at, now)}: figures are as of then. {_next_step()}"
            )


def _next_step() -> str:
    if data_source.is_running() is None:
        return "See the runs of the jobs."
    return "`millrace status` shows why." if data_source.is_running() else "`millrace up` starts the jobs."


def _rows(look: Look, table: str) -> int:
    facts = look.facts(table)
    if facts is None:
        return 0
    return 1 if facts.rows is None else facts.rows  # not known: there are some


def _as_of(position: int | None, now: datetime) -> str:
    """The arrival time, in Kafka's log, of the last records that are in all figures."""
    if position is None:
        return "not yet"
    arrived = datetime.fromtimestamp(position / 1e6, timezone.utc)
    return f"{arrived:%H:%M:%S} UTC, {ago(arrived, now)}"


def _fact(label: str, value: str) -> None:
    with st.container(width="content", gap=None):
        st.caption(label)
        st.text(value)
