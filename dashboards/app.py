"""The Streamlit application: audience, journeys, attribution, data quality and the pipeline.

It only reads tables. Each page is a file in `views/`.
"""

from pathlib import Path

import access
import data_source
import streamlit as st
import viewer
from widgets import filters, header
from widgets.formatting import plain_text

_HERE = Path(__file__).parent
_ALL = (filters.PERIOD, filters.CHANNEL, filters.CAMPAIGN)
_PAGES = {
    "Answers": {
        "overview": ("Overview", "monitoring", _ALL[:2]),
        "attribution": ("Attribution", "balance", _ALL),
        "conversion": ("Conversion", "route", ()),
        "campaigns": ("Campaigns", "campaign", (filters.PERIOD, filters.CAMPAIGN)),
        "journeys": ("Journeys", "conversion_path", _ALL),
        "audience": ("Audience", "groups", _ALL),
        "cohorts": ("Cohorts", "table_chart", (filters.CHANNEL, filters.CAMPAIGN)),
        "orders": ("Orders", "receipt_long", _ALL[:1]),
    },
    "Trust": {
        "windows": ("Windows", "view_week", _ALL[:2]),
        "quality": ("Data quality", "verified", _ALL[:1]),
        "pipeline": ("Pipeline", "valve", ()),
        "privacy": ("Privacy", "shield_person", _ALL[:1]),
    },
}
_LESS_AIR = "<style>.stMainBlockContainer { padding: 3.2rem 2.2rem 2.5rem; }</style>"

st.set_page_config(page_title="Millrace", page_icon=str(_HERE / "icon.svg"), layout="wide")
st.html(_LESS_AIR)
access.check_viewer()
viewer.check_role()
if message := data_source.startup_message():
    st.subheader("No SQL warehouse", anchor=False)
    st.text(message)
    st.stop()
unseen = () if viewer.may_see_privacy() else ("privacy",)
st.logo(str(_HERE / "logo.svg"), size="large", icon_image=str(_HERE / "icon.svg"))
pages = {
    section: [
        st.Page(
            _HERE / "views" / f"{name}.py",
            title=title,
            icon=f":material/{icon}:",
            url_path=name,
            default=name == "overview",
        )
        for name, (title, icon, _) in group.items()
        if name not in unseen
    ]
    for section, group in _PAGES.items()
}
current = st.navigation(pages)
uses = {title: used for group in _PAGES.values() for title, _, used in group.values()}[current.title]
header.show(current.title)
filters.show(data_source.lake().look(), uses)
current.run()
if who := access.account():
    with st.sidebar:
        st.text(f"Logged in as {plain_text(who)}")
        st.button("Log out", on_click=st.logout, type="tertiary")
