"""The page: who came, what they did, and which campaign earned which conversion.

Reads the tables under `$MILLRACE_HOME/warehouse` and writes nothing.
"""

import os
from datetime import datetime, timezone
from pathlib import Path

import figures
import header
import reports
import sections
import streamlit as st
from freshness import progress
from period import CHOICES, DEFAULT, chosen_period
from warehouse import Warehouse

REFRESH_SECONDS = 2.5


@st.cache_resource
def open_warehouse(root: str) -> Warehouse:
    """One for all viewers, so that they share its answers."""
    return Warehouse(Path(root))


@st.fragment(run_every=REFRESH_SECONDS)
def page() -> None:
    """The whole page, drawn anew every few seconds."""
    home = Path(os.environ.get("MILLRACE_HOME", ".millrace")).expanduser()
    currency = os.environ.get("MILLRACE_REPORTING_CURRENCY", "EUR")
    lake = open_warehouse(str((home / "warehouse").resolve()))
    now = datetime.now(timezone.utc)
    header.show(lake.answer(progress, ["ops.ledger"]), lake.rows("silver.events"), now)
    extent = lake.answer(figures.extent, ["gold.traffic", "silver.sessions"])
    if extent is None:
        header.nothing_yet(lake.rows("bronze.kafka_records"))
        return
    choice = header.period_selector(list(CHOICES), DEFAULT)
    period = chosen_period(choice, *extent)
    sections.kpis(lake, period, currency)
    sections.traffic(lake, period)
    sections.attribution(lake, period, currency)
    sections.sessions(lake, period)
    sections.conversions(lake, period, currency)
    reports.show(home)
    header.footnote(lake.unreadable)


_LESS_AIR = "<style>.stMainBlockContainer { padding-top: 2.5rem; padding-bottom: 2.5rem; }</style>"

st.set_page_config(page_title="Millrace", page_icon=str(Path(__file__).with_name("icon.svg")), layout="wide")
st.html(_LESS_AIR)
page()
