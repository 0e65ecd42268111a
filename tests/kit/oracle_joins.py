"""Test oracle for impressions and searches: each click is compared with all exposures of its visitor."""

from collections import defaultdict

from kit.oracle_wire import MINUTE, SECOND, Fields


def impressions(events: list[Fields], watermark: int) -> list[Fields]:
    """silver.impressions."""
    rows = []
    for (visitor, promotion), own in _split(events, "visitor_id", "promotion_id").items():
        for row in _join(own, "impression", "click", 30 * MINUTE, 10 * SECOND, watermark):
            pieces = [_piece(each, "click") for each in row.pop("_events")]
            row.pop("_clicked")
            row.pop("_offer")
            rows.append({**row, "visitor_id": visitor, "promotion_id": promotion, "made_of": pieces})
    return rows


def searches(events: list[Fields], watermark: int) -> list[Fields]:
    """silver.searches."""
    rows = []
    for (visitor,), own in _split(events, "visitor_id").items():
        for row in _join(own, "search", "result_click", 10 * MINUTE, 0, watermark):
            offer, clicked = row.pop("_offer"), row.pop("_clicked")
            pieces = []
            for each in row.pop("_events"):
                is_search = each["role"] == "search"
                query = each["query"] if is_search else None
                product = None if is_search else each["product_id"]
                pieces.append({**_piece(each, "result_click"), "query": query, "product_id": product})
            products = [click["product_id"] for click in clicked if click["product_id"] is not None]
            query = offer["query"] if offer else None
            more = {"visitor_id": visitor, "query": query, "clicked_products": products, "made_of": pieces}
            rows.append({**row, **more})
    return rows


def _split(events: list[Fields], *columns: str) -> dict[tuple[str, ...], list[Fields]]:
    split = defaultdict(list)
    for event in events:
        split[tuple(event[name] for name in columns)].append(event)
    return split


def _when(event: Fields) -> tuple[int, str]:
    return event["event_time"], event["event_id"]


def _piece(event: Fields, click: str) -> Fields:
    return {
        "at": event["event_time"],
        "is_click": event["role"] == click,
        "event_id": event["event_id"],
    }


def _join(
    events: list[Fields], offer: str, click: str, within: int, pause: int, watermark: int
) -> list[Fields]:
    offers = sorted((event for event in events if event["role"] == offer), key=_when)
    of: dict[str, list[Fields]] = {each["event_id"]: [] for each in offers}
    hidden: dict[str, list[Fields]] = defaultdict(list)
    alone: list[Fields] = []
    last, last_at, went = None, None, ""
    for each in sorted((event for event in events if event["role"] == click), key=_when):
        at = each["event_time"]
        if last_at is not None and at - last_at < pause:
            hidden[went].append(each)
            continue
        last_at, last = at, each
        found = [one for one in offers if one["event_time"] <= at < one["event_time"] + within]
        if found:
            went = found[-1]["event_id"]
            of[went].append(last)
        else:
            went = last["event_id"]
            alone.append(last)
    rows = [_row(one, one, of[one["event_id"]], hidden, within, pause, watermark) for one in offers]
    return rows + [_row(None, one, [one], hidden, within, pause, watermark) for one in alone]


def _row(
    offer: Fields | None,
    event: Fields,
    clicked: list[Fields],
    hidden: dict[str, list[Fields]],
    within: int,
    pause: int,
    watermark: int,
) -> Fields:
    at = event["event_time"]
    clicks = sorted([*clicked, *hidden[event["event_id"]]], key=_when)
    if offer is None:
        outcome = "orphan"
    elif clicked:
        outcome = "clicked"
    else:
        outcome = "unclicked" if at + within <= watermark else "open"
    turns = [at + within] * (outcome == "open") + [at + within + pause]
    return {
        "event_id": event["event_id"],
        "event_time": at,
        "outcome": outcome,
        "first_click_at": clicked[0]["event_time"] if clicked else None,
        "clicks": len(clicked),
        "is_open": watermark < at + within + pause,
        "due_at": next((turn for turn in turns if watermark < turn), None),
        "_offer": offer,
        "_clicked": clicked,
        "_events": [*([offer] if offer else []), *clicks],
    }
