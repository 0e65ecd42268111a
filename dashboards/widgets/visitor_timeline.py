"""What else a conversion's visitor did, and what the shop's database says of its customer."""

import streamlit as st
from metrics.story import Story
from metrics.timeline import timeline
from tables.table_cache import Look

from widgets import layout
from widgets.layout import number_column, place_table, text_column, time_column

_HEIGHT = 740  # pixels: twenty entries


def show(look: Look, explained: Story) -> None:
    """Show the timeline if it is asked for."""
    if not st.toggle("Timeline of the visitor and its customer", key="timeline", bind="query-params"):
        return
    frame = look.figure(timeline, explained.conversion["visitor_id"], look.role is not None)
    columns = {
        "at": time_column("When (UTC)"),
        "kind": text_column("Of", 80, "An event, or a row of the shop's database"),
        "name": text_column("What", 150, "Name of the event, plan of the customer, status of the order"),
        "url": text_column("Address", 250),
        "user_id": text_column("User or customer", 120),
        "order_id": text_column("Order", 120),
        "value": number_column("Value", 2),
        "currency": "Currency",
        "valid_to": time_column("Until (UTC)"),
    }
    place_table(
        frame,
        columns,
        "timeline",
        heading="Events, and changes in the shop",
        height=layout.fitting(frame, _HEIGHT),
        otherwise="No timeline yet: it needs the shop's database, see docs/shop.md.",
    )
