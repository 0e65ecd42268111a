"""Inputs after public reports, loaded as files and taken through all jobs: what the tables say of them."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from kit.home import JOBS, ROOT, Home

pytestmark = pytest.mark.long

CASES = ROOT.parent / "shared" / "cases"
OWN_VISITORS = ("20-placeholder-ids",)  # its ids are the subject, and in no other file


@pytest.fixture(scope="module")
def home(new_home: Callable[..., Home], tmp_path_factory: pytest.TempPathFactory) -> Home:
    """All files in one home. Visitors have their file's number before their name, since files share names."""
    if not CASES.is_dir():
        pytest.skip(f"the inputs are not there: {CASES}")
    home, folder = new_home(), tmp_path_factory.mktemp("inputs")
    for source in sorted(CASES.glob("*/input.*")):
        case = source.parent.name
        text = source.read_text(encoding="utf-8")
        if case not in OWN_VISITORS:
            text = re.sub(r'("anonymousId": ")', rf"\g<1>{case[:2]}-", text)
        file: Path = folder / f"{case}{source.suffix}"
        file.write_text(text, encoding="utf-8")
        home.must("load", str(file), "--format", "access-log" if source.suffix == ".log" else "segment")
    home.must("run", *JOBS, "--once")
    return home


def events(home: Home, columns: str, case: str) -> list[list[str]]:
    order = "length(event_id), event_id"
    return home.sql(f"SELECT {columns} FROM silver.events WHERE event_id LIKE '{case}-%' ORDER BY {order}")


def credit(home: Home, order: str) -> dict[str, list[list[str]]]:
    """Channel, campaign and credit of an order's touches in order of time, by model."""
    rows = home.sql(
        "SELECT model, a.channel, campaign_name, round(credit, 6) FROM gold.attribution a "
        f"JOIN gold.conversions USING (conversion_id) WHERE order_id = '{order}' ORDER BY model, position"
    )
    return {model: [row[1:] for row in rows if row[0] == model] for model, *_ in rows}


def test_first_column_of_a_log_with_a_port_is_the_virtual_host(home: Home) -> None:
    rows = home.sql(
        "SELECT visitor_id, user_id, url FROM silver.events WHERE url LIKE '%shop.example/_' "
        "AND library = 'millrace-access-log' OR url LIKE '%shop.example/a?utm_source=news&utm_medium=email' "
        "AND library = 'millrace-access-log' ORDER BY event_time"
    )
    assert len({visitor for visitor, *_ in rows}) == 2
    assert [user for _, user, _ in rows] == ["", "", "dora"]
    assert [url.split("/")[2] for *_, url in rows] == ["www.shop.example"] * 2 + ["blog.shop.example"]


def test_port_of_an_address_is_no_part_of_the_visitor(home: Home) -> None:
    of_the_log = "started_at >= '2026-07-12' AND started_at < '2026-07-13'"
    query = f"SELECT count(*), count(DISTINCT visitor_id) FROM silver.sessions WHERE {of_the_log}"
    assert home.sql(query) == [["2", "2"]]


def test_clock_set_back_or_ahead_loses_no_event(home: Home) -> None:
    assert events(home, "epoch_ms(event_time), time_source", "06") == [
        ["1716250136000", "arrival"],
        ["1716250131449", "corrected"],
        ["1716250136000", "arrival"],
    ]
    assert home.sql("SELECT value FROM gold.conversions WHERE order_id = '06-A'") == [["10.0000"]]
    assert home.sql("SELECT count(*) FROM silver.rejected_events WHERE reason = 'future'") == [["0"]]


def test_times_in_many_notations_are_read(home: Home) -> None:
    noon, fraction, arrival = "1777636800000000", "1777636800123456", "1777881600000000"
    assert events(home, "event_id, epoch_us(event_time), unread_time", "08") == [
        ["08-01", noon, ""],
        ["08-03", fraction, ""],
        ["08-05", noon, ""],
        ["08-07", noon, ""],
        ["08-09", noon, ""],
        ["08-12", arrival, "2026-05-01"],
        ["08-13", noon, ""],
        ["08-14", noon, ""],
        ["08-17", arrival, "2026-04-30T24:00:00Z"],
    ]


def test_campaign_fields_are_read_as_people_write_them(home: Home) -> None:
    columns = "s.channel, s.campaign_source, s.campaign_medium, s.campaign_name"
    rows = home.sql(f"SELECT visitor_id, {columns} FROM silver.sessions s WHERE visitor_id LIKE '15-%'")
    found = {visitor[4:]: row for visitor, *row in rows}
    assert found["01"] == ["Email", "News", "E-Mail", ""]
    assert [found[number][:2] for number in ("02", "04", "05")] == [["Email", "news"]] * 3
    assert found["07"] == ["Email", "news", "email", "x"]
    assert found["09"][3] == "caf%E9"
    assert found["12"][0] == "Direct"
    assert found["14"][:2] == ["Email", ""]
    assert found["18"][:2] == ["Email", "<script>"]


def test_return_from_a_payment_page_is_no_touch(home: Home) -> None:
    for order in ("16-aO", "16-bO"):
        assert set(map(str, credit(home, order).values())) == {"[['Email', 'may', '1.0']]"}
    rows = home.sql(
        "SELECT channel, continues IS NOT NULL FROM silver.sessions WHERE visitor_id = '16-slow' "
        "ORDER BY started_at"
    )
    assert rows == [["Email", "false"], ["Email", "true"]]
    assert home.sql("SELECT count(*) FROM silver.sessions WHERE visitor_id = '16-fast'") == [["1"]]


def test_campaign_inside_a_session_is_a_touch(home: Home) -> None:
    rows = home.sql("SELECT channel, campaign_name FROM silver.sessions WHERE visitor_id = '17-a'")
    assert rows == [["Email", "A"]]
    found = credit(home, "17-O")
    email, search = ["Email", "A"], ["Paid Search", "B"]
    of_one = {"first": email, "last": search, "last_non_direct": search}
    for model, touch in of_one.items():
        assert [row[:2] for row in found[model] if float(row[2])] == [touch]
    for model in ("linear", "position_based"):
        assert found[model] == [[*email, "0.5"], [*search, "0.5"]]


def test_two_people_at_one_computer_stay_two(home: Home) -> None:
    rows = home.sql(
        "SELECT order_id, person_id FROM gold.conversions WHERE order_id LIKE '19-%' ORDER BY ALL"
    )
    assert rows == [["19-A", "A"], ["19-B", "B"]]
    assert [row[0] for row in credit(home, "19-A")["first"] if float(row[2])] == ["Email"]
    assert [row[0] for row in credit(home, "19-B")["first"] if float(row[2])] == ["Paid Search"]


def test_placeholders_are_no_ids(home: Home) -> None:
    users = home.sql(
        "SELECT DISTINCT user_id FROM silver.events WHERE event_id LIKE '20-%' AND user_id IS NOT NULL"
    )
    assert users == [["42"]]
    query = "SELECT visitor_id FROM silver.events WHERE user_id = '42' ORDER BY ALL"
    assert home.sql(query) == [["n1"], ["n2"]]
    refused = home.sql("SELECT count(*) FROM silver.rejected_events WHERE reason = 'no_identity'")
    assert refused == [["2"]]


def test_refunds_stop_at_what_is_left(home: Home) -> None:
    rows = home.sql(
        "SELECT order_id, sum(value) FROM gold.conversions WHERE order_id IN ('A', 'B', 'C', 'D', 'E') "
        "GROUP BY order_id ORDER BY order_id"
    )
    assert {order: float(value) for order, value in rows} == {"A": 0, "B": 0, "C": 15, "D": 30, "E": 10}
    cut = "SELECT order_id, value, value_sent FROM gold.conversions WHERE over_refunded"
    assert home.sql(cut) == [["B", "-35.0000", "-50.0000"]]


def test_money_is_read_as_people_write_it(home: Home) -> None:
    rows = home.sql("SELECT order_id, value FROM gold.conversions WHERE order_id LIKE '25-%'")
    values = {"01": 2000, "03": 39.95, "04": 1999, "05": None, "06": 12.5, "08": 7, "10": 0, "12": -5}
    assert {order[3:]: float(value) if value else None for order, value in rows} == values
    query = "SELECT unread_value FROM silver.events WHERE event_id LIKE '25-%' AND unread_value IS NOT NULL"
    assert home.sql(query) == [["6,795"]]


def test_telephones_and_apps_are_people(home: Home) -> None:
    bots = home.sql("SELECT visitor_id FROM silver.bots WHERE visitor_id LIKE '26-%' ORDER BY ALL")
    assert bots == [["26-b07"], ["26-b09"], ["26-b10"]]


def test_order_of_a_server_is_of_its_user_and_no_visit(home: Home) -> None:
    assert home.sql("SELECT count(*) FROM silver.sessions WHERE visitor_id IN ('28-web1', '7')") == [["1"]]
    assert home.sql("SELECT count(*) FROM gold.touches WHERE visitor_id IN ('28-web1', '7')") == [["1"]]
    assert {str(rows) for rows in credit(home, "28-O").values()} == {"[['Email', '', '1.0']]"}
    day = "window_kind = '1 day' AND window_start = '2026-05-01' AND channel = 'Email'"
    ((conversions,),) = home.sql(f"SELECT conversions FROM gold.traffic WHERE {day}")
    orders = "date_trunc('day', converted_at) = '2026-05-01' AND is_counted"
    last = f"SELECT count(*) FROM gold.conversions WHERE traffic_channel = 'Email' AND {orders}"
    assert home.sql(last) == [[conversions]]


def test_byte_order_mark_is_no_part_of_the_file(home: Home) -> None:
    assert events(home, "event_id", "29") == [["29-1"], ["29-2"]]


def test_hosts_are_compared_by_their_site(home: Home) -> None:
    rows = home.sql("SELECT visitor_id, channel FROM silver.sessions WHERE visitor_id LIKE '31-%'")
    found = {visitor[4:]: channel for visitor, channel in rows}
    direct = dict.fromkeys(("03", "05", "06", "08"), "Direct")
    assert found == {"01": "Organic Search", **direct, "10": "Referral"}
