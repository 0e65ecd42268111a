"""The frame of a page: its body is drawn anew every few seconds, at one version of each table."""

from collections.abc import Callable

import filters
import header
import sources
import streamlit as st
from reading.lake import Look
from scope import Scope


def show(body: Callable[[Look, Scope], None]) -> None:
    """A page about events; says so where there are none yet."""

    @st.fragment(run_every=header.REFRESH_SECONDS)
    def part() -> None:
        look = sources.lake().look()
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
        look = sources.lake().look()
        body(look, filters.scope(look))
        header.footnote(sorted(look.unreadable))

    part()
