"""How charts, tables and figures are put on a page.

What comes from an event is shown by these only, which take it as text; never as markdown.
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

from widgets.formatting import Locale, locale_of, plain

Columns = Mapping[str, str | ColumnConfig]  # heading, or more, by column

TABLE_HEIGHT = 320  # pixels
_HEAD, _ROW = 36, 35  # pixels of a table's head and of a row
_TRACE = 1e-14  # of a number: more than it lacks as a binary fraction
_FORMULA = r"^[=+\-@\t\r]"  # what a spreadsheet would work out


def place_chart(
    data: pl.DataFrame,
    draw: Callable[[pl.DataFrame, Palette], alt.TopLevelMixin],
    otherwise: str,
    height: int = bar_charts.HEIGHT,
) -> None:
    """Draw a chart in the colours of the viewer's theme, or say why there is none."""
    if data.is_empty():
        say_nothing(otherwise, height)
        return
    chart = draw(data, palette_of(st.context.theme.type))
    written = locale()
    number = {"decimal": written.point, "thousands": written.group, "grouping": [3], "currency": ["", ""]}
    words = f"{chart.title.text}. The figures are in the tables of this page."  # type: ignore[attr-defined]
    st.altair_chart(chart.configure(locale={"number": number}), alt=words)  # type: ignore[attr-defined]


def say_nothing(words: str, height: int = bar_charts.HEIGHT) -> None:
    """A frame as high as what would stand there."""
    with st.container(border=True, height=height, vertical_alignment="center"):
        st.text(words, text_alignment="center")


def place_table(
    rows: pl.DataFrame, columns: Columns, name: str, height: int = TABLE_HEIGHT, heading: str = ""
) -> None:
    """Show rows as a table of constant height, with the columns given, and offer all of it as CSV.

    Args:
        rows: text in them is made fit to be shown; the download has it whole.
        columns: those shown, in their order.
        name: of the file, without its ending; one of its kind on a page.
        height: in pixels.
        heading: above it.
    """
    with st.container(gap="xsmall"):
        table_head(rows, name, heading)
        st.dataframe(
            _shown(rows, columns), height=height, hide_index=True, column_config=columns, placeholder="–"
        )


def choose_row(rows: pl.DataFrame, columns: Columns, name: str, height: int, heading: str = "") -> int | None:
    """The same table, a row of which can be chosen: its number, None as long as none is."""
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
    """The height that all rows take, within reason: for tables whose rows do not come and go."""
    return min(_HEAD + _ROW * max(rows.height, 1), most)


def table_head(rows: pl.DataFrame, name: str, heading: str) -> None:
    """A table's heading, and the button that downloads it."""
    with line():
        st.markdown(f"**{heading}**" if heading else "", width="stretch")
        st.download_button(
            "CSV",
            data=as_csv(rows),  # at once: one that is made later has another address after each refresh
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
    """Rows as CSV, times in UTC; text that a spreadsheet would take for a formula gets a `'` before it."""
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
    """Figures in one row.

    Args:
        shown: by label, the figure as it is written, what it means, and how it has changed.
    """
    for column, (label, shown_value) in zip(st.columns(len(shown)), shown.items(), strict=True):
        delta = shown_value[2] if len(shown_value) > 2 else None
        column.metric(label, shown_value[0], delta, help=shown_value[1], border=True, delta_color="off")


def line() -> AbstractContextManager[object]:
    """A row whose parts stand at its ends."""
    return st.container(
        horizontal=True, vertical_alignment="center", horizontal_alignment="distribute", gap="small"
    )


def locale() -> Locale:
    """How the viewer writes numbers."""
    return locale_of(st.context.locale)


def time_column(label: str) -> ColumnConfig:
    """A column of instants, to the second."""
    return st.column_config.DatetimeColumn(label, format="D MMM YYYY HH:mm:ss", timezone="UTC")


def number_column(
    label: str, digits: int = 0, meaning: str | None = None, width: int | None = None
) -> ColumnConfig:
    """A column of numbers, with so many decimals, as the viewer's language writes them."""
    return st.column_config.NumberColumn(
        label, width=width, format="localized", step=_step(digits), help=meaning
    )


def share_column(label: str, meaning: str | None = None) -> ColumnConfig:
    """A column of shares of 1, in per cent with one decimal."""
    return st.column_config.NumberColumn(label, format="percent", step=_step(3), help=meaning)


def _step(digits: int) -> float:
    """By which a table knows how many decimals to show."""
    return 10.0**-digits if digits else 1


def text_column(label: str, width: int | None = None, meaning: str | None = None) -> ColumnConfig:
    """A column of text, so many pixels wide."""
    return st.column_config.TextColumn(label, width=width, help=meaning)


def _shown(rows: pl.DataFrame, columns: Columns) -> pl.DataFrame:
    """The columns to be seen, as text and numbers that a table can show."""
    kept = rows.select([name for name in columns if name in rows.columns])
    text = [plain(name).alias(name) for name, kind in kept.schema.items() if kind == pl.String]
    money = [pl.col(name).cast(pl.Float64) for name, kind in kept.schema.items() if kind.is_decimal()]
    numbers = kept.with_columns(*text, *money)
    return numbers.with_columns(
        _rounded(name, columns[name]) for name, kind in numbers.schema.items() if kind.is_float()
    )


def _rounded(name: str, column: str | ColumnConfig) -> pl.Expr:
    """Numbers with the decimals of their column: a table cuts off what is behind them.

    They are a trace further from zero, so that it does not cut the last one of 0.289 off as well.
    """
    step = None if isinstance(column, str) else (column.get("type_config") or {}).get("step")  # type: ignore[attr-defined]
    if not step:
        return pl.col(name)
    return pl.col(name).round(round(-math.log10(step))) * (1 + _TRACE)


def side_by_side(*parts: Callable[[], None], widths: tuple[int, ...] = ()) -> None:
    """Parts of a page next to each other."""
    for column, part in zip(st.columns(widths or len(parts)), parts, strict=True):
        with column:
            part()


def shown_labels(rows: pl.DataFrame, column: str) -> pl.DataFrame:
    """Rows with the text of a column fit to be shown."""
    return rows.with_columns(plain(column).alias(column))
