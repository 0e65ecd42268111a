"""Event roles as configured in conf/."""

import json

from folds.records.outcomes import Event, Record
from folds.records.parse import parse
from folds.records.parse_rules import load_parse_rules
from folds.records.roles import TrackRule, load_role_rules
from lakehouse.settings import load_settings

PARSE_RULES = load_parse_rules(load_settings().conf)
RULES = load_role_rules(load_settings().conf)


def test_page_and_screen_types_are_page_views() -> None:
    assert RULES.types == {"page": "page_view", "screen": "page_view", "identify": "identify"}


def test_track_events_have_roles_of_commerce_spec() -> None:
    assert {name: rule.role for name, rule in RULES.tracks.items()} == {
        "Promotion Viewed": "impression",
        "Promotion Clicked": "click",
        "Products Searched": "search",
        "Product List Viewed": "results",
        "Product Clicked": "result_click",
        "Order Completed": "goal",
        "Order Refunded": "goal",
        "Order Cancelled": "goal",
        "Signed Up": "goal",
    }


def test_promotion_click_requires_promotion_id() -> None:
    assert RULES.tracks["Promotion Clicked"].requires == ("promotion_id",)


def test_result_list_requires_query_or_search_id() -> None:
    search, results = RULES.tracks["Products Searched"], RULES.tracks["Product List Viewed"]
    assert (search.requires_any, results.requires_any) == ((), ("query", "search_id"))
    assert (search.takes, search.shows) == (results.takes, results.shows)


def test_refund_rule_is_negated_order_rule_with_refund_id() -> None:
    order, refund = RULES.tracks["Order Completed"], RULES.tracks["Order Refunded"]
    takes = {"order_id": "order_id", "currency": "currency"}
    assert order == TrackRule("goal", takes=takes, money=("total", "revenue"))
    takes |= {"refund_id": "refund_id"}
    assert refund == TrackRule("goal", takes=takes, money=("total", "revenue"), negate=True)


def test_cancellation_rule_reads_no_amount() -> None:
    assert RULES.tracks["Order Cancelled"] == TrackRule("goal", takes={"order_id": "order_id"})


def test_logged_file_requests_are_not_page_views() -> None:
    def role(path: str, **properties: object) -> str:
        event = {"messageId": "1", "type": "page", "anonymousId": "a"}
        event["properties"] = {"path": path, **properties}
        outcome = parse(Record(json.dumps(event).encode(), 0), PARSE_RULES)
        assert isinstance(outcome, Event)
        return outcome.role

    for path in ("/favicon.ico", "/style2.css", "/IMAGES/LOGO.PNG"):
        assert role(path, method="GET", status=200) == "other"
        assert role(path) == "page_view", "an SDK reports a page, whatever its address"
    for path in ("/", "/blog/js", "/index.html", "/files.css/list"):
        assert role(path, method="GET", status=200) == "page_view"
