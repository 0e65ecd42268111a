"""The frame of a page: its body is drawn anew every few seconds, at one version of each table."""

from collections.abc import Callable

import data_source
import streamlit as st
from query_scope import Scope
from tables.table_cache import Look

from widgets import filters, header


def show(body: Callable[[Look, Scope], None]) -> None:
    """A page about events; says so where there are none yet."""

    @st.fragment(run_every=header.REFRESH_SECONDS)
    def part() -> None:
        look = data_source.lake().look()
        asked = filters.scope(look)
        if asked is None:
            header.nothing_yet(look)
            return
        body(look, asked)
        header.footnote(sorted(look.unreadable))

    part()


def show_always(body: Callable[[Look, Scope | None], None]) -> None:
    """A page about the pipeline itself, which has something to say before the first event."""

    @st.fragment(run_every=header.REFRESH_SECONDS)
    def part() -> None:
        look = data_source.lake().look()
        body(look, filters.scope(look))
        header.footnote(sorted(look.unreadable))

    part()
