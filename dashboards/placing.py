"""How charts and tables are put on the page, and how their values are written.

What comes from an event is shown by these only, which take it as text; never as markdown.
"""

from collections.abc import Callable, Mapping

import altair as alt
import charts
import polars as pl
import streamlit as st
from palette import Palette, palette_of
from streamlit.elements.lib.column_types import ColumnConfig

Columns = Mapping[str, str | ColumnConfig]  # heading, or more, by column

TABLE_HEIGHT = 320  # pixels


def place_chart(
    data: pl.DataFrame, draw: Callable[[pl.DataFrame, Palette], alt.Chart], otherwise: str
) -> None:
    """Draw a chart in the colours of the viewer's theme, or say why there is none."""
    if data.is_empty():
        with st.container(border=True, height=charts.HEIGHT, vertical_alignment="center"):
            st.text(otherwise, text_alignment="center")
    else:
        st.altair_chart(draw(data, palette_of(st.context.theme.type)))


def place_table(rows: pl.DataFrame, columns: Columns, height: int = TABLE_HEIGHT) -> None:
    """Show rows as a table of constant height, with the columns given, in their order."""
    shown = [name for name in columns if name in rows.columns]
    st.dataframe(rows.select(shown), height=height, hide_index=True, column_config=columns, placeholder="–")


def time_column(label: str) -> ColumnConfig:
    """A column of instants, to the second."""
    return st.column_config.DatetimeColumn(label, format="D MMM YYYY HH:mm:ss", timezone="UTC")


def number_column(label: str, digits: int, meaning: str | None = None) -> ColumnConfig:
    """A column of numbers, with so many digits after the point."""
    return st.column_config.NumberColumn(label, format=f"%.{digits}f", help=meaning)


def text_column(label: str, width: int) -> ColumnConfig:
    """A column of text, so many pixels wide."""
    return st.column_config.TextColumn(label, width=width)
