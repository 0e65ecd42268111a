"""The frame of a page. The body is redrawn every few seconds, each time on a new snapshot of the tables."""

from collections.abc import Callable

import data_source
import read_notes
import streamlit as st
from query_scope import Scope
from tables.table_cache import Look

from widgets import filters, header


def show(body: Callable[[Look, Scope], None]) -> None:
    """Show a page that needs events. Before the first event it shows a message."""

    @st.fragment(run_every=header.REFRESH_SECONDS)
    def part() -> None:
        look = data_source.lake().look()
        asked = filters.scope(look)
        if asked is None:
            header.nothing_yet(look)
            return
        body(look, asked)
        read_notes.note(look, body)
        header.footnote(look)

    part()


def show_always(body: Callable[[Look, Scope | None], None]) -> None:
    """Show a page about the pipeline, which also works before the first event."""

    @st.fragment(run_every=header.REFRESH_SECONDS)
    def part() -> None:
        look = data_source.lake().look()
        body(look, filters.scope(look))
        read_notes.note(look, body)
        header.footnote(look)

    part()
