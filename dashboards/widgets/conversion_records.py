"""The records behind a conversion: a table of their coordinates, and their text."""

import polars as pl
import streamlit as st
from metrics import records
from metrics.story import Story
from tables.table_cache import Look

from widgets import layout
from widgets.layout import number_column, place_table, text_column, time_column

_HEIGHT = 740  # pixels: twenty records
_LONGEST = 20_000  # characters of a record that are shown


def show(look: Look, explained: Story) -> None:
    """Show the records if they are asked for: they are looked up one by one."""
    if not st.toggle("Records in Kafka", key="records", bind="query-params"):
        return
    conversion_id = explained.conversion["conversion_id"]
    frame = look.figure(records.records_behind, conversion_id, records.events_of(explained))
    columns = {
        "event": text_column("Event", 90),
        "topic": text_column("Topic", 90),
        "partition": number_column("Partition"),
        "offset": number_column("Offset"),
        "received": time_column("Received by Kafka (UTC)"),
    }
    heading = "Records behind the trail, the touches and the goal"
    place_table(
        frame.drop("record"), columns, "records", heading=heading, height=layout.fitting(frame, _HEIGHT)
    )
    texts = frame["record"].fill_null("not in bronze").str.slice(0, _LONGEST)
    places = frame.select(pl.format("{}/{}/{}", "topic", "partition", "offset")).to_series()
    lines = (f"{place}  {text}" for place, text in zip(places, texts, strict=True))
    st.code("\n".join(lines), language=None, wrap_lines=True)
    st.text(f"millrace trace gold.conversions {conversion_id} --compare compares them with Kafka.")
