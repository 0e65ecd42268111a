"""Page Conversion: the timeline of one conversion, and how each model computes its credit."""

import data_source
import polars as pl
import streamlit as st
from charts import timeline_chart
from metrics import attribution, story
from metrics.story import Row, Story
from query_scope import MODEL_NAMES, MODELS, Scope
from tables.table_cache import Look
from widgets import conversion_records, layout, page, visitor_timeline
from widgets.formatting import plain_text, utc
from widgets.layout import choose_row, number_column, place_chart, place_table, text_column, time_column

from folds.rule_numbers import load_rule_numbers
from lakehouse.bundle_file import conf_folder
from millrace.explain.consent import NO_CREDIT
from millrace.explain.credit import explain_value_split, work_out
from millrace.explain.refund import equals, explain_limit
from millrace.explain.trail_steps import step_in_words

_NOT_FOUND = "There is no conversion, order or event of that id."
_KEY = "conversion"
_TRAIL = 740  # pixels: twenty steps
_CHOSEN = "chosen-conversion"  # session state: the conversion selected in the list


def body(look: Look, scope: Scope) -> None:
    """Show the conversion searched for, or a list to choose from."""
    if chosen := st.session_state.pop(_CHOSEN, None):
        st.session_state[_KEY] = chosen
    wanted = st.text_input(
        "Conversion, order, or UID of its event",
        key=_KEY,
        bind="query-params",
        placeholder="an id, or the beginning of a conversion's",
        width=420,
    ).strip()
    found = look.figure(story.find, wanted)
    if not found:
        if wanted:
            st.text(layout.why_empty(look, _NOT_FOUND, "gold.conversions"))
        _suggest(look, scope)
        return
    if len(found) > 1:
        found = [_which(found)]
    explained = look.figure(story.explain, found[0]["conversion_id"])
    if explained is not None:
        _show(look, explained)
        if look.shows("gold.visitor_timeline"):
            visitor_timeline.show(look, explained)
        if look.shows("bronze.kafka_records"):
            conversion_records.show(look, explained)


def _suggest(look: Look, scope: Scope) -> None:
    rows = look.figure(attribution.conversions_behind, scope, "last")
    columns = {
        "converted_at": time_column("Converted (UTC)"),
        "earner": text_column("Last touch", 200),
        "reporting_value": number_column(data_source.CURRENCY, 2),
        "touches": number_column("Touches"),
        "conversion_id": "Conversion",
    }
    chosen = choose_row(
        rows, columns, "latest-conversions", layout.TABLE_HEIGHT, "The latest ones: choose one"
    )
    if chosen is not None:
        st.session_state[_CHOSEN] = rows["conversion_id"][chosen]
        st.rerun(scope="fragment")


def _which(found: list[Row]) -> Row:
    by_id = {row["conversion_id"]: row for row in found}
    words = {name: plain_text(f"{row['goal']}, {utc(row['converted_at'])}") for name, row in by_id.items()}
    chosen = st.selectbox("Several conversions have it", list(by_id), format_func=words.__getitem__)
    return by_id[chosen]


def _show(look: Look, explained: Story) -> None:
    _head(look, explained)
    place_chart(
        pl.DataFrame({"one": [1]}),
        lambda _, palette: timeline_chart.time_line(explained, palette),
        "",
        timeline_chart.HEIGHT,
    )
    _credits(explained)
    if look.sees("gold.attribution.credit"):
        _sums(explained)
        _arithmetic(explained)
    _trail(explained)


def _head(look: Look, explained: Story) -> None:
    row = explained.conversion
    facts = {
        "Goal": row["goal"],
        "Order": row["order_id"],
        **({"Refund": row["refund_id"]} if row["refund_id"] else {}),
        "When": utc(row["converted_at"]),
        "Person": row["person_id"],
        "Worth": _worth(look, explained),
        "State": "final" if row["is_final"] else "may still change",
    }
    with st.container(border=True, horizontal=True, gap="small"):
        for label, value in facts.items():
            with st.container(width="content", gap=None):
                st.caption(label)
                st.text(plain_text(value))
    if explained.anchor is not row:
        at = utc(explained.anchor["converted_at"])
        st.text(f"It takes back from the touches of its order of {at}, and counts in money alone.")
    if row["is_credited"] is False:
        st.text(NO_CREDIT)
    if limit := explain_limit(row, layout.locale().money):
        st.text(limit)


def _worth(look: Look, explained: Story) -> str:
    row = explained.conversion
    if row["value"] is None:
        return "not said" if look.sees("gold.conversions.value") else "–"
    money = layout.locale().money
    value = f"{money(row['value'])} {row['currency'] or '(no currency)'}"
    if row["reporting_value"] is None:
        return f"{value}; in {data_source.CURRENCY} not known, for want of a rate"
    if explained.rate is None:
        return value
    rate = _as_written(f"{explained.rate['rate'].normalize():f}")
    sign = equals(row["value"], explained.rate["rate"], row["reporting_value"])
    return f"{value} × {rate} {sign} {money(row['reporting_value'])} {data_source.CURRENCY}"


def _as_written(figures: str) -> str:
    """Numbers with the viewer's decimal separator."""
    return figures.replace(".", layout.locale().point)


def _credits(explained: Story) -> None:
    rows = [
        {
            "position": row["position"],
            "touched_at": row["touched_at"],
            "channel": row["channel"],
            "campaign": row["campaign_name"] or row["promotion_id"],
            **{
                model: explained.credits[model][number]["credit"]
                for model in MODELS
                if explained.credits.get(model)
            },
        }
        for number, row in enumerate(next((rows for rows in explained.credits.values() if rows), []))
    ]
    frame = pl.DataFrame(rows, infer_schema_length=None)
    columns = {
        "position": number_column("#", width=40),
        "touched_at": time_column("Touched (UTC)"),
        "channel": "Channel",
        "campaign": text_column("Campaign or promotion", 140),
        **{model: number_column(MODEL_NAMES[model], 4) for model in MODELS},
    }
    place_table(
        frame,
        columns,
        "credits",
        heading="Touches, and the credit of each by model",
        height=layout.fitting(frame),
    )


def _sums(explained: Story) -> None:
    sums = {f"{sum(row['credit'] for row in each):.9f}" for each in explained.credits.values() if each}
    shown_sums = _as_written(" or ".join(sorted(sums)))
    st.text(f"Credits of each model sum to {shown_sums or 'nothing yet'}.")


def _trail(explained: Story) -> None:
    columns = {
        "step": number_column("#", width=40),
        "words": text_column("What it was", 305),
        "matched_on": text_column("Matched on", 85, "What ties it to the rest of the trail"),
        "at": time_column("When (UTC)"),
        "address": text_column("Address", 250),
        "page_before": text_column("Page before", 140),
        "promotion_id": text_column("Promotion", 120),
    }
    texts = ("words", "kind", "matched_on", "promotion_id", "url", "referrer", "event_id")
    schema = {"step": pl.Int64, "at": pl.Datetime("us", "UTC"), **dict.fromkeys(texts, pl.String)}
    given = explained.campaigns, explained.continues
    rows = [{**step, "words": step_in_words(step, *given)} for step in explained.trail]
    frame = pl.DataFrame(rows, schema).with_columns(*_short_addresses())
    heading = "Trail: how it came about, as far as it is known"
    place_table(frame, columns, "trail", heading=heading, height=layout.fitting(frame, _TRAIL))


def _short_addresses() -> tuple[pl.Expr, pl.Expr]:
    """Columns `address` and `page_before` without scheme; a referrer on the same host without host."""
    address, before = (pl.col(name).str.replace(r"^https?://", "") for name in ("url", "referrer"))
    host = address.str.extract(r"^([^/?#]+)")
    is_own = before.str.starts_with(pl.format("{}/", host)).fill_null(value=False)
    short = pl.when(is_own).then(before.str.strip_prefix(host)).otherwise(before)
    return address.alias("address"), short.alias("page_before")


def _arithmetic(explained: Story) -> None:
    st.markdown("**The arithmetic**")
    there = [model for model in MODELS if explained.credits.get(model)]
    if not there:
        st.text("No credit has been worked out yet.")
        return
    for tab, model in zip(st.tabs([MODEL_NAMES[each] for each in there]), there, strict=True):
        with tab:
            _model(explained, model)


def _model(explained: Story, model: str) -> None:
    rows = explained.credits[model]
    at = explained.anchor["converted_at"]
    touches = [(row["channel"] or "", at - row["touched_at"]) for row in rows if row["touch_id"]]
    values = [row["credited_value"] for row in rows]
    parts = explain_value_split(explained.conversion["value"], [row["credit"] for row in rows], values)
    numbers = load_rule_numbers(conf_folder())
    frame = pl.DataFrame(
        {
            "position": [row["position"] for row in rows],
            "channel": [row["channel"] for row in rows],
            "why": list(map(_as_written, work_out(model, touches, numbers))),
            "share": list(map(_as_written, parts)),
            "value": [row["credited_reporting_value"] for row in rows],
        },
        schema_overrides={"channel": pl.String, "value": pl.Decimal(18, 4)},
    )
    columns = {
        "position": number_column("#", width=40),
        "channel": text_column("Channel", 150),
        "why": text_column("Why", 330),
        "share": text_column("Credit × value", 330),
        "value": number_column(f"Value ({data_source.CURRENCY})", 4),
    }
    heading = f"Each touch: {MODEL_NAMES[model]}"
    place_table(frame, columns, f"arithmetic-{model}", heading=heading, height=layout.fitting(frame))


page.show(body)
