"""Page Attribution: credit by model, and the differences between two models."""

from functools import partial

import data_source
import polars as pl
import streamlit as st
from charts import bar_charts
from metrics import attribution
from query_scope import MODEL_NAMES, MODELS, Scope
from tables.table_cache import Look
from widgets import layout, page
from widgets.layout import choose_row, number_column, place_chart, place_table, text_column, time_column
from widgets.model_choice import choose_model

_MOST_GROUPS = 9  # groups of bars in a chart
_NOT_RUN = (
    "The data-driven models (Markov chain, Shapley value) have not run yet. They run every night, or now "
    "by:\nmillrace run attribution-model"
)
_UNITS = {"Value": "reporting_value", "Conversions": "conversions"}


def body(look: Look, scope: Scope) -> None:
    """Compare two models, list all models, data-driven models, and the latest conversions."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        by = st.selectbox("Credit goes to", list(attribution.BY), key="by", bind="query-params", width=190)
        measure = _UNITS[_either("In", list(_UNITS), "in")]
        model = choose_model("Model", "model", "last_non_direct")
        other = choose_model("Compare with", "against", "linear")
    unit = data_source.CURRENCY if measure == "reporting_value" else "conversions"
    found = look.figure(attribution.credited, scope, attribution.BY[by]).drop_nulls(measure)
    credits_ = layout.shown_labels(found, "label")
    leaders = credits_["label"].unique(maintain_order=True).head(_MOST_GROUPS).to_list()
    shown = credits_.filter(pl.col("label").is_in(leaders))
    two = list(dict.fromkeys((model, other)))
    nothing = layout.why_empty(
        look,
        "No conversions to credit in this period.",
        f"gold.attribution.{attribution.MEASURES[measure]}",
    )
    compared = _named(shown.filter(pl.col("model").is_in(two)))
    names = [MODEL_NAMES[each] for each in two]
    heading = f"Credit: {' and '.join(names)}"
    draw = partial(bar_charts.grouped, measure=measure, heading=heading, unit=unit, series=names)
    changed = attribution.changes(shown, model, other, measure)
    turned = f"{MODEL_NAMES[other]} instead of {MODEL_NAMES[model]}"
    turn = partial(bar_charts.change, heading=f"Change: {turned}", unit=unit)
    layout.side_by_side(
        partial(place_chart, compared, draw, nothing, bar_charts.TALL),
        partial(place_chart, changed, turn, nothing, bar_charts.TALL),
    )
    _all_models(credits_, by, measure, unit, nothing)
    layout.side_by_side(partial(_behind, look, scope, model), partial(_data_driven, look), widths=(3, 2))


def _all_models(credits_: pl.DataFrame, label: str, measure: str, unit: str, nothing: str) -> None:
    wide = credits_.pivot("model", index="label", values=measure, aggregate_function="sum").fill_null(0)
    dimension = attribution.BY[label]
    columns = {dimension: text_column(label, 200)}
    digits = 2 if measure == "reporting_value" else 1
    for model in MODELS:
        name = MODEL_NAMES[model]
        columns[model] = number_column(f"{name} ({unit})", digits, f"What {name} credits to it.")
    rows, heading = wide.rename({"label": dimension}), "All models on the same conversions"
    place_table(rows, columns, "credit", heading=heading, otherwise=nothing)


def _behind(look: Look, scope: Scope, model: str) -> None:
    rows = look.figure(attribution.conversions_behind, scope, model)
    columns = {
        "converted_at": time_column("Converted (UTC)"),
        "earner": text_column("Most of it earned by", 165),
        "credit": number_column("Credit", 2, "What the touches in question have of it."),
        "reporting_value": number_column(f"Value ({data_source.CURRENCY})", 2),
        "touches": number_column("Touches"),
        "conversion_id": text_column("Conversion", 80),
    }
    heading = f"Conversions behind it: {MODEL_NAMES[model]}"
    chosen = choose_row(rows, columns, "conversions-behind", layout.TABLE_HEIGHT, heading)
    if chosen is None:
        st.caption("Choose a row to see why.")
        return
    asked = {name: st.query_params.get_all(name) for name in st.query_params}
    st.page_link(
        "views/conversion.py",
        label="Why? Open this conversion",
        icon=":material/route:",
        query_params={**asked, "conversion": rows["conversion_id"][chosen]},
    )


def _data_driven(look: Look) -> None:
    periods = look.figure(attribution.model_periods)
    if not periods:
        st.markdown("**Data-driven models**")
        layout.say_nothing(layout.why_empty(look, _NOT_RUN, "gold.channel_credit"))
        return
    words = {f"{start:%-d %b %Y} to {end:%-d %b %Y %H:%M}": (start, end) for start, end in periods}
    chosen = st.selectbox("Data-driven models over", list(words), key="over", bind="query-params")
    rows = look.figure(attribution.channel_credit, *words[chosen])
    version = ", ".join(rows["model_version"].unique().drop_nulls().sort()) or "none"
    draw = partial(
        bar_charts.grouped,
        measure="conversions",
        heading="Conversions by data-driven models",
        unit="conversions",
        series=[MODEL_NAMES[name] for name in ("markov", "shapley")],
        height=layout.TABLE_HEIGHT,
    )
    nothing = layout.why_empty(look, "No conversions in it.", "gold.channel_credit.conversions")
    shown = _named(layout.shown_labels(rows.drop_nulls("conversions"), "label"))
    place_chart(shown, draw, nothing, layout.TABLE_HEIGHT)
    st.text(f"Version of the model: {version}. Filters above don't apply here.")


def _named(credits_: pl.DataFrame) -> pl.DataFrame:
    """Credits with the models' names as the pages write them."""
    return credits_.with_columns(pl.col("model").replace(MODEL_NAMES))


def _either(label: str, options: list[str], key: str) -> str:
    chosen: str = st.segmented_control(
        label, options, default=options[0], required=True, key=key, bind="query-params"
    )
    return chosen


page.show(body)
