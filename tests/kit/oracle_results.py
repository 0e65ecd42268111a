"""Test oracle for search results: each search is compared with all events of its visitor."""

from collections import defaultdict

from kit.oracle_wire import MINUTE, Fields

SPAN = 10 * MINUTE


def search_results(events: list[Fields], watermark: int) -> list[Fields]:
    """silver.search_results."""
    by_visitor = defaultdict(list)
    for each in events:
        if each["role"] in ("search", "results", "result_click"):
            by_visitor[each["visitor_id"]].append(each)
    return [
        row
        for own in by_visitor.values()
        for search in own
        if search["role"] == "search"
        for row in _rows(search, own, watermark)
    ]


def _rows(search: Fields, own: list[Fields], watermark: int) -> list[Fields]:
    is_over = watermark >= search["event_time"] + SPAN
    products = _products(search, own)
    rows = []
    for place, product in enumerate(products):
        times = []
        if product is not None and product not in products[:place]:
            times = [
                each["event_time"]
                for each in own
                if each["product_id"] == product and _is_click_of(search, each, own)
            ]
        outcome = "clicked" if times else "unclicked" if is_over else "open"
        rows.append(
            {
                "search_event_id": search["event_id"],
                "visitor_id": search["visitor_id"],
                "query": search["query"],
                "event_time": search["event_time"],
                "rank": place + 1,
                "product_id": product,
                "outcome": outcome,
                "first_click_at": min(times, default=None),
                "is_open": outcome == "open",
                "due_at": search["event_time"] + SPAN if outcome == "open" else None,
            }
        )
    return rows


def _products(search: Fields, own: list[Fields]) -> list[str | None]:
    if search["shown_products"]:
        return list(search["shown_products"])
    lists = [each for each in own if each["role"] == "results" and _is_list_of(search, each, own)]
    return list(min(lists, key=_when)["shown_products"] or []) if lists else []


def _is_list_of(search: Fields, results: Fields, own: list[Fields]) -> bool:
    return search is _latest([each for each in own if _is_same(each, results)], results)


def _is_click_of(search: Fields, click: Fields, own: list[Fields]) -> bool:
    return click["role"] == "result_click" and search is _latest(own, click)


def _is_same(search: Fields, results: Fields) -> bool:
    """Whether a result list belongs to a search: by search id if both have one, else by query."""
    if search["search_id"] is not None and results["search_id"] is not None:
        return bool(search["search_id"] == results["search_id"])
    return search["query"] is not None and search["query"] == results["query"]


def _latest(own: list[Fields], after: Fields) -> Fields | None:
    """The latest search before an event, within ten minutes."""
    before = [
        each
        for each in own
        if each["role"] == "search" and 0 <= after["event_time"] - each["event_time"] < SPAN
    ]
    return max(before, key=_when, default=None)


def _when(event: Fields) -> tuple[int, str]:
    return event["event_time"], event["event_id"]
