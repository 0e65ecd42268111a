"""Functions that place charts, tables and metrics on a page.

Data from events is shown by these functions only. They render it as text, never as markdown.
"""

import math
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager

import altair as alt
import polars as pl
import streamlit as st
from charts import bar_charts
from charts.palette import Palette, palette_of
from streamlit.elements.lib.column_types import ColumnConfig
from tables.table_cache import Look

from widgets.formatting import Locale, locale_of, plain

Columns = Mapping[str, str | ColumnConfig]  # heading or column configuration, by column

TABLE_HEIGHT = 320  # pixels
_EMPTY_HEIGHT = 130  # pixels
_HEAD, _ROW = 36, 35  # pixels of a table's header and of a row
_TRACE = 1e-14  # relative: larger than the rounding error of a float
_FORMULA = r"^[=+\-@\t\r]"  # text that a spreadsheet would evaluate


def place_chart(
    data: pl.DataFrame,
    draw: Callable[[pl.DataFrame, Palette], alt.TopLevelMixin],
    otherwise: str,
    height: int = bar_charts.HEIGHT,
) -> None:
    """Draw a chart in the colours of the viewer's theme, or the text `otherwise` if there is no data."""
    if data.is_empty():
        say_nothing(otherwise, height)
        return
    chart = draw(data, palette_of(st.context.theme.type))
    written = locale()
    number = {"decimal": written.point, "thousands": written.group, "grouping": [3], "currency": ["", ""]}
    words = f"{chart.title.text}. The figures are in the tables of this page."  # type: ignore[attr-defined]
    st.altair_chart(chart.configure(locale={"number": number}), alt=words)  # type: ignore[attr-defined]


def say_nothing(words: str, height: int = bar_charts.HEIGHT) -> None:
    """Show a text instead of a chart or a table, in a box that is lower than either."""
    with st.container(border=True, height=min(height, _EMPTY_HEIGHT), vertical_alignment="center"):
        st.text(words, text_alignment="center")


def why_empty(look: Look, words: str, *needed: str) -> str:
    """Why there is nothing to show: `words`, or that the viewer's role does not see what is needed.

    Args:
        look: the snapshot of the page.
        words: the reason if the role sees all of it.
        needed: tables and columns, see `Look.sees`.
    """
    return words if look.sees(*needed) else "This role does not see these figures."


def place_table(
    rows: pl.DataFrame,
    columns: Columns,
    name: str,
    height: int = TABLE_HEIGHT,
    heading: str = "",
    otherwise: str = "Nothing to show here yet.",
) -> None:
    """Show rows as a table of constant height, with a button that downloads all of it as CSV.

    Args:
        rows: the rows. Text is shortened and cleaned for display, but not in the download.
        columns: the columns to show, in order.
        name: name of the file without extension; unique on a page.
        height: in pixels.
        heading: heading above the table.
        otherwise: shown instead if there are no rows.
    """
    with st.container(gap="xsmall"):
        table_head(rows, name, heading)
        if rows.is_empty():
            say_nothing(otherwise)
            return
        st.dataframe(
            _shown(rows, columns), height=height, hide_index=True, column_config=columns, placeholder="–"
        )


def choose_row(rows: pl.DataFrame, columns: Columns, name: str, height: int, heading: str = "") -> int | None:
    """Show a table with selectable rows. Returns the number of the selected row, or None."""
    with st.container(gap="xsmall"):
        table_head(rows, name, heading)
        event = st.dataframe(
            _shown(rows, columns),
            height=height,
            hide_index=True,
            column_config=columns,
            placeholder="–",
            key=f"choose-{name}",
            on_select="rerun",
            selection_mode="single-row",
        )
    chosen = event["selection"]["rows"]
    return chosen[0] if chosen and chosen[0] < rows.height else None


def fitting(rows: pl.DataFrame, most: int = TABLE_HEIGHT) -> int:
    """The height for all rows, up to a maximum. For tables with a stable number of rows."""
    return min(_HEAD + _ROW * max(rows.height, 1), most)


def table_head(rows: pl.DataFrame, name: str, heading: str) -> None:
    """Show a table's heading and its download button."""
    with line():
        st.markdown(f"**{heading}**" if heading else "", width="stretch")
        st.download_button(
            "CSV",
            data=as_csv(rows),  # built now: with a lazy download, the URL would change at each refresh
            file_name=f"millrace-{name}.csv",
            mime="text/csv",
            key=f"csv-{name}",
            icon=":material/download:",
            type="tertiary",
            on_click="ignore",
            disabled=rows.is_empty(),
            help="All rows of this table",
        )


def as_csv(rows: pl.DataFrame) -> bytes:
    """Rows as CSV, times in UTC. Text that looks like a spreadsheet formula is prefixed by `'`."""
    text = [name for name, kind in rows.schema.items() if kind == pl.String]
    safe = rows.with_columns(
        pl.when(pl.col(name).str.contains(_FORMULA))
        .then("'" + pl.col(name))
        .otherwise(pl.col(name))
        .alias(name)
        for name in text
    )
    return safe.write_csv(datetime_format="%Y-%m-%dT%H:%M:%S%.6fZ").encode()


def metrics(shown: Mapping[str, tuple[str, str] | tuple[str, str, str | None]]) -> None:
    """Show metrics in one row.

    Args:
        shown: maps a label to the formatted figure, its explanation, and optionally its change.
    """
    for column, (label, shown_value) in zip(st.columns(len(shown)), shown.items(), strict=True):
        delta = shown_value[2] if len(shown_value) > 2 else None
        column.metric(
            label,
            shown_value[0],
            delta,
            help=shown_value[1],
            border=True,
            delta_color="off",
            height="stretch",
        )


def line() -> AbstractContextManager[object]:
    """A row with its elements distributed to both ends."""
    return st.container(
        horizontal=True, vertical_alignment="center", horizontal_alignment="distribute", gap="small"
    )


def locale() -> Locale:
    """The viewer's number format."""
    return locale_of(st.context.locale)


def time_column(label: str) -> ColumnConfig:
    """A column of times, to the second."""
    return st.column_config.DatetimeColumn(label, format="D MMM YYYY HH:mm:ss", timezone="UTC")


def day_column(label: str) -> ColumnConfig:
    """A column of days."""
    return st.column_config.DateColumn(label, format="D MMM YYYY")


def number_column(
    label: str, digits: int = 0, meaning: str | None = None, width: int | None = None
) -> ColumnConfig:
    """A column of numbers with fixed decimals, in the viewer's number format."""
    return st.column_config.NumberColumn(
        label, width=width, format="localized", step=_step(digits), help=meaning
    )


def share_column(label: str, meaning: str | None = None) -> ColumnConfig:
    """A column of ratios, as percentages with one decimal."""
    return st.column_config.NumberColumn(label, format="percent", step=_step(3), help=meaning)


def _step(digits: int) -> float:
    """The step of a number column, which sets its number of decimals."""
    return 10.0**-digits if digits else 1


def text_column(label: str, width: int | None = None, meaning: str | None = None) -> ColumnConfig:
    """A column of text; the width is in pixels."""
    return st.column_config.TextColumn(label, width=width, help=meaning)


def _shown(rows: pl.DataFrame, columns: Columns) -> pl.DataFrame:
    """The columns to show: text cleaned, decimals as floats, floats rounded."""
    kept = rows.select([name for name in columns if name in rows.columns])
    text = [plain(name).alias(name) for name, kind in kept.schema.items() if kind == pl.String]
    money = [pl.col(name).cast(pl.Float64) for name, kind in kept.schema.items() if kind.is_decimal()]
    numbers = kept.with_columns(*text, *money)
    return numbers.with_columns(
        _rounded(name, columns[name]) for name, kind in numbers.schema.items() if kind.is_float()
    )


def _rounded(name: str, column: str | ColumnConfig) -> pl.Expr:
    """Round numbers to the decimals of their column, because a Streamlit table truncates them.

    They are moved away from zero by a tiny factor: else 0.289 would be truncated to 0.288.
    """
    step = None if isinstance(column, str) else (column.get("type_config") or {}).get("step")  # type: ignore[attr-defined]
    if not step:
        return pl.col(name)
    return pl.col(name).round(round(-math.log10(step))) * (1 + _TRACE)


def side_by_side(*parts: Callable[[], None], widths: tuple[int, ...] = ()) -> None:
    """Draw parts of a page side by side."""
    for column, part in zip(st.columns(widths or len(parts)), parts, strict=True):
        with column:
            part()


def shown_labels(rows: pl.DataFrame, column: str) -> pl.DataFrame:
    """Rows with the text of a column cleaned for display."""
    return rows.with_columns(plain(column).alias(column))
