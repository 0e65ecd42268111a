"""Page Data quality: the gate, expectations over time, consent, what events lack, and rejected records."""

from datetime import datetime, timezone
from functools import partial

import data_source
import polars as pl
import streamlit as st
from charts import bar_charts, time_charts
from charts.palette import Palette
from metrics import gaps, quality
from query_scope import Scope
from tables.table_cache import Look
from widgets import layout, page
from widgets.formatting import lasting, plain_text, utc
from widgets.gate_state import Gates, latest_results, read_gates
from widgets.layout import (
    choose_row,
    day_column,
    number_column,
    place_chart,
    place_table,
    share_column,
    text_column,
    time_column,
)

from folds.records.roles import load_role_rules
from lakehouse.bundle_file import conf_folder
from millrace.explain.gap_kinds import KINDS

_ORDERS = ("unreadable_refund", "unreadable_value", "no_value", "no_currency", "no_rate", "negative_value")
_COMPLETE = "Nothing is missing: these events have all that the tables can tell."
_ONLY_IN_FILES = (
    "Counted by millrace load FILE --check only: "
    f"{'; '.join(kind.what for kind in KINDS.values() if not kind.in_tables)}."
).replace("`", "")
_GAPS_HEIGHT = 530  # pixels
_NOTHING_REFUSED = "Nothing was refused in this period."
_NOTHING = "No expectations have been evaluated on these tables yet."


def body(look: Look, scope: Scope | None) -> None:
    """Show the state of the gate, expectations, consent, what events lack, and rejected records."""
    latest = look.figure(latest_results)
    if look.sees("ops.gates", "ops.expectations"):
        _figures(look.figure(read_gates), latest)
    nothing = layout.why_empty(look, _NOTHING, "ops.expectations")
    place_chart(_runs(look.figure(quality.history)), _draw, nothing, 220)
    _results(latest)
    _docs()
    if scope is not None:
        _consent(look, scope)
        _gaps(look, scope)
        layout.side_by_side(partial(_reasons, look, scope), partial(_examples, look, scope), widths=(2, 3))


def _figures(gates: Gates, latest: pl.DataFrame) -> None:
    failed = latest.filter(~pl.col("success")).height
    number = layout.locale().number
    layout.metrics(
        {
            "Gate": (gates.word, "Whether what came last may reach gold."),
            "Expectations met": (
                f"{number(latest.height - failed)} of {number(latest.height)}",
                "In the latest evaluation of each expectation.",
            ),
            "Warnings": (number(gates.warnings), "Not met, but nothing is held back for it."),
            "Since": _since(gates.since),
        }
    )


def _since(at: datetime | None) -> tuple[str, str]:
    if at is None:
        return "–", "When the gate came to be so."
    return lasting(datetime.now(timezone.utc) - at), f"The gate has been so since {utc(at)}."


def _runs(history: pl.DataFrame) -> pl.DataFrame:
    details = pl.format("{} of {} met", "met", pl.col("met") + pl.col("failed"))
    result = pl.when(pl.col("failed") > 0).then(pl.lit("not all met")).otherwise(pl.lit("all met"))
    return history.with_columns(
        result.alias("result"),
        details.alias("details"),
        pl.col("run_at").dt.strftime("%-d %b %Y %H:%M:%S").alias("when"),
    )


def _draw(rows: pl.DataFrame, palette: Palette) -> object:
    return time_charts.results_over_time(rows, palette, "Evaluations of each table over time")


def _results(latest: pl.DataFrame) -> None:
    columns = {
        "table": text_column("Table", 130),
        "name": text_column("Expectation", 300),
        "column": "Column",
        "outcome": "Outcome",
        "severity": "Severity",
        "unexpected_count": number_column("Unexpected rows", meaning="Rows that are not as expected"),
        "rows": number_column("Of rows", meaning="Rows that were evaluated"),
        "observed": number_column("Observed", 4, "Share of unexpected rows; of a number, the number"),
        "run_at": time_column("Evaluated (UTC)"),
    }
    outcome = pl.when("success").then(pl.lit("met")).otherwise(pl.lit("NOT MET")).alias("outcome")
    place_table(latest.with_columns(outcome), columns, "expectations", heading="Latest evaluation")


def _docs() -> None:
    place = data_source.data_docs()
    if place is None:
        st.caption("Reports on expectations (Data Docs) appear here once there are some.")
    else:
        st.link_button("Open the reports (Data Docs)", place, icon=":material/open_in_new:")


def _consent(look: Look, scope: Scope) -> None:
    tables = ("gold.touches", "gold.conversions")
    unseen = frozenset(f"{table}.{name}" for table in tables for name in look.unseen(table))
    rows = look.figure(quality.without_consent, scope, unseen)
    share = layout.locale().share
    shares = (f"{share(each)} of {of} to {purpose}" for purpose, of, each in rows.iter_rows())
    if words := "; ".join(shares):
        st.text(f"Without consent in this period: {words}.")


def _gaps(look: Look, scope: Scope) -> None:
    unseen = frozenset(f"{table}.{name}" for table in gaps.tables_read() for name in look.unseen(table))
    rows = look.figure(gaps.gaps, scope, _goals(), unseen)
    heading = "What events of this period lack, the costliest first"
    if rows.is_empty():
        layout.table_head(rows, "gaps", heading)
        layout.say_nothing(_COMPLETE)
    else:
        _place_gaps(rows, heading)
    st.text(_ONLY_IN_FILES)
    if left_out := gaps.kinds_unseen(unseen):
        named = "; ".join(KINDS[kind].what for kind in left_out)
        st.text(f"Not looked for, since this role does not see them: {named}.")


def _goals() -> gaps.Goals:
    valued = {name: rule for name, rule in load_role_rules(conf_folder()).tracks.items() if rule.money}
    return gaps.Goals(
        orders=tuple(name for name, rule in valued.items() if not rule.negate),
        refunds=tuple(name for name, rule in valued.items() if rule.negate),
    )


def _place_gaps(rows: pl.DataFrame, heading: str) -> None:
    columns = {
        "what": text_column("What is missing", 290),
        "count": number_column("Count"),
        "share": share_column("Share"),
        "of": text_column("Of", 130),
        "advice": text_column("What to do", 330),
        "example": text_column("Example", 130, "Id of one of the latest; of a record topic/partition/offset"),
        "sent": text_column("Sent there", 150, "The amount, time, address, currency or user that was sent"),
        "first": day_column("First day"),
        "latest": day_column("Latest day"),
    }
    unquoted = rows.with_columns(pl.col("what", "advice").str.replace_all("`", "", literal=True))
    chosen = choose_row(unquoted, columns, "gaps", layout.fitting(rows, _GAPS_HEIGHT), heading)
    if chosen is None or rows["kind"][chosen] not in _ORDERS or rows["example"][chosen] is None:
        st.caption("Choose a row of orders or amounts to open its example.")
        return
    asked = {name: st.query_params.get_all(name) for name in st.query_params}
    st.page_link(
        "views/conversion.py",
        label="Open this conversion",
        icon=":material/route:",
        query_params={**asked, "conversion": rows["example"][chosen]},
    )


def _reasons(look: Look, scope: Scope) -> None:
    rows = look.figure(quality.rejected_by_reason, scope)
    draw = partial(
        bar_charts.bars,
        label="reason",
        measure="records",
        heading="Records refused, by reason",
        unit="records",
        height=bar_charts.TALL,
    )
    nothing = layout.why_empty(look, _NOTHING_REFUSED, "silver.rejected_events")
    place_chart(layout.shown_labels(rows, "reason"), draw, nothing, bar_charts.TALL)


def _examples(look: Look, scope: Scope) -> None:
    reasons = look.figure(quality.rejected_by_reason, scope)["reason"].to_list()
    if not reasons:
        nothing = layout.why_empty(look, _NOTHING_REFUSED, "silver.rejected_events")
        layout.say_nothing(nothing, bar_charts.TALL)
        return
    chosen = st.selectbox(
        "Examples of", reasons, key="reason", bind="query-params", format_func=plain_text, width=240
    )
    columns = {
        "arrival_time": time_column("Arrived (UTC)"),
        "value": text_column("The record, as it came", 265),
        "topic": "Topic",
        "partition": number_column("Partition"),
        "offset": number_column("Offset"),
    }
    rows = look.figure(quality.rejected_examples, scope, chosen)
    place_table(rows, columns, "refused", heading="As they came; never run, never rendered")


page.show_always(body)
