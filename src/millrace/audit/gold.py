"""The audit of gold: recomputes credits and windows from their inputs."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from itertools import groupby
from typing import Any

import narwhals as nw

from folds.persons.models import DIRECT, MODELS, ModelInput, ModelNumbers
from folds.rule_numbers import load_rule_numbers
from lakehouse.run.rules_version import rules_version
from lakehouse.settings import Settings
from lakehouse.timestamps import span_micros
from millrace.audit.finding import Finding
from millrace.audit.windows import wrong_windows
from millrace.tables.table_scan import iterate, query, rows_of, scan

_NAMED = 3  # number of wrong keys that are listed
_PRECISION = 1e-9

Keys = set[tuple[Any, ...]]

_CREDITED = "is_credited IS NOT FALSE"
"""Of conversions: null in rows that are older than the column."""

_EARNS = "coalesce(earns_credit, true) AND coalesce(has_attribution_consent, true) AS earns_credit"

_RIGHT = f"""
    SELECT sums.conversion_id FROM (
        SELECT conversion_id, model, sum(credit) AS credit, sum(credited_value) AS value,
            sum(credited_reporting_value) AS reporting_value
        FROM gold.attribution GROUP BY conversion_id, model
    ) AS sums JOIN gold.conversions AS whole ON sums.conversion_id = whole.conversion_id
    WHERE abs(sums.credit - 1) < {_PRECISION} AND sums.value IS NOT DISTINCT FROM whole.value
        AND sums.reporting_value IS NOT DISTINCT FROM whole.reporting_value
    GROUP BY sums.conversion_id HAVING count(*) = {len(MODELS)}"""
"""Conversions whose credits sum to 1, and credited values to the conversion's value, in every model."""

_SUMS = f"""
    SELECT conversion_id FROM gold.conversions WHERE {_CREDITED} EXCEPT {_RIGHT}
    UNION ALL
    (SELECT conversion_id FROM gold.attribution EXCEPT
        SELECT conversion_id FROM gold.conversions WHERE {_CREDITED})"""

_VIEWS = """
    SELECT visitor_id, view.event_id AS touch_id, view.at AS touched_at, view.channel AS channel,
        true AS earns_credit, view.event_id AS event_id, visits.touched_at AS visited_at,
        visits.event_id AS visit_event_id
    FROM gold.touches AS visits WHERE view IS NOT NULL AND has_attribution_consent IS NOT FALSE"""
"""View-through impressions of visits, which are touches if conf/rules.yml lets them earn credit."""

_TOUCHES = f"""
    WITH touches AS (
        SELECT touch_id, touched_at, channel, {_EARNS} FROM gold.touches
        UNION SELECT touch_id, touched_at, channel, earns_credit FROM ({_VIEWS}) AS views
    )
    SELECT DISTINCT credits.conversion_id, credits.touch_id
    FROM gold.attribution AS credits LEFT JOIN touches ON credits.touch_id = touches.touch_id
    WHERE credits.touch_id IS NOT NULL AND (
        touches.touch_id IS NULL OR touches.touched_at <> credits.touched_at OR touches.earns_credit = false
        OR coalesce(touches.channel, '{DIRECT}') <> credits.channel)"""


def audit_gold(settings: Settings) -> Iterator[Finding]:
    """Compare credits with conversions, touches and models, and windows with gold.visitor_minutes.

    Yields:
        A finding for each comparison, right or not.
    """
    conversions, credits_ = scan(settings, "gold.conversions"), scan(settings, "gold.attribution")
    if conversions is None or credits_ is None:
        yield Finding("gold", "nothing has been published yet", True)
        return
    count = f"{rows_of(conversions.select(nw.len()))[0]['len']:,} conversions"
    yield _finding("credits sum to conversions", count, lambda: _keys(settings, _SUMS))
    if scan(settings, "gold.touches") is not None:
        yield _finding("credits are of touches", count, lambda: _keys(settings, _TOUCHES))
        yield _finding("credits are of all touches", count, lambda: _keys(settings, _left_out(settings)))
    yield _finding("credits follow from models", count, lambda: _wrong_shares(settings))
    if (windows := scan(settings, "gold.traffic")) is not None:
        rows = rows_of(windows.select(nw.len()))[0]["len"]
        yield _finding("windows sum minutes", f"{rows:,} windows", lambda: wrong_windows(settings))


def _finding(what: str, whole: str, look: Callable[[], Keys]) -> Finding:
    wrong = look()
    named = ", ".join("/".join(map(str, key)) for key in sorted(wrong, key=str)[:_NAMED])
    return Finding(f"gold: {what}", f"{whole}, {len(wrong):,} wrong{f': {named}' * bool(wrong)}", not wrong)


def _left_out(settings: Settings) -> str:
    """SQL for conversions whose number of credited touches is wrong, or that lack one of their person's.

    Single touches are compared only for conversions computed by the current rules. A view-through is a touch
    of the person of its visit, if the impression was this person's.
    """
    numbers = load_rule_numbers(settings.conf)
    seconds, spans = numbers.look_back // timedelta(seconds=1), _spans(settings)
    return f"""
    WITH touches AS (
        SELECT visitor_id, touch_id, touched_at, channel, {_EARNS}, event_id, touched_at AS visited_at,
            event_id AS visit_event_id
        FROM gold.touches {f"UNION ALL {_VIEWS}" * numbers.view_through}
    ), owned AS (
        SELECT touches.*, coalesce(span.user_id, touches.visitor_id) AS person_id FROM touches
        LEFT JOIN {spans} AS span ON {_is_inside("span", "touched_at", "event_id")}
        LEFT JOIN {spans} AS visit ON {_is_inside("visit", "visited_at", "visit_event_id")}
        WHERE span.user_id IS NOT DISTINCT FROM visit.user_id
    ), credited AS (
        SELECT DISTINCT conversion_id, touch_id FROM gold.attribution WHERE touch_id IS NOT NULL
    ), counted AS (
        SELECT conversion_id, count(*) AS touches FROM credited GROUP BY conversion_id
    )
    SELECT whole.conversion_id, 'touches' AS touch_id FROM gold.conversions AS whole
    LEFT JOIN counted ON whole.conversion_id = counted.conversion_id
    WHERE whole.touches <> coalesce(counted.touches, 0)
    UNION ALL
    SELECT whole.conversion_id, owned.touch_id
    FROM gold.conversions AS whole
    JOIN owned ON whole.person_id = owned.person_id
        AND owned.visited_at <= whole.converted_at
        AND owned.touched_at >= whole.converted_at - INTERVAL {seconds} SECOND
    LEFT JOIN credited ON whole.conversion_id = credited.conversion_id
        AND owned.touch_id = credited.touch_id
    WHERE credited.touch_id IS NULL AND whole.is_counted AND owned.earns_credit
        AND whole.{_CREDITED}
        AND coalesce(whole.rules_version, '') = '{rules_version(settings.conf)}'"""


def _spans(settings: Settings) -> str:
    """SQL for silver.identities, which a home without user ids may not have: then for no spans."""
    if scan(settings, "silver.identities") is not None:
        return "silver.identities"
    return """(
        SELECT visitor_id, visitor_id AS user_id, touched_at AS valid_from, event_id AS from_event_id,
            touched_at AS valid_to, event_id AS to_event_id
        FROM gold.touches WHERE false)"""


def _is_inside(span: str, time: str, event: str) -> str:
    """A condition: the event of a touch, given by the columns of its time and UID, is in a visitor's span."""
    return f"""touches.visitor_id = {span}.visitor_id
            AND ({span}.valid_from IS NULL OR {time} > {span}.valid_from
                OR ({time} = {span}.valid_from AND touches.{event} >= {span}.from_event_id))
            AND ({span}.valid_to IS NULL OR {time} < {span}.valid_to
                OR ({time} = {span}.valid_to AND touches.{event} < {span}.to_event_id))"""


def _keys(settings: Settings, sql: str) -> Keys:
    return {tuple(row.values()) for row in query(settings, sql)}


def _wrong_shares(settings: Settings) -> Keys:
    """Conversions and models whose credits differ from the model's result for the same touches.

    Skips credits of refunds and cancellations, which are split like those of their order, and conversions
    that were computed by other rules than the current ones.
    """
    credits_, conversions = scan(settings, "gold.attribution"), scan(settings, "gold.conversions")
    if credits_ is None or conversions is None:
        return set()
    current = nw.col("rules_version") == rules_version(settings.conf)
    ours = conversions.filter(current & nw.col("is_counted")).select("conversion_id")
    columns = ("conversion_id", "model", "position", "channel", "touched_at", "converted_at", "credit")
    order = ("conversion_id", "model", "position")
    rows = credits_.join(ours, on="conversion_id", how="inner").select(*columns).sort(*order)
    numbers = ModelNumbers.of(load_rule_numbers(settings.conf))
    wrong = set()
    for key, group in groupby(iterate(rows), lambda row: row[:2]):
        _, _, _, channels, touched, converted, found = zip(*group, strict=True)
        ages = [span_micros(at - touch) if touch else 0 for touch, at in zip(touched, converted, strict=True)]
        share = MODELS.get(key[1])
        expected = share(ModelInput(channels, ages, numbers)) if share else []
        if len(expected) != len(found) or any(
            abs(one - other) > _PRECISION for one, other in zip(expected, found, strict=True)
        ):
            wrong.add(key)
    return wrong
