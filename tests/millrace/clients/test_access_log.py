"""Lines of an access log become page events, or are rejected with a reason."""

import json
import re
from contextlib import suppress
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.clients.access_log import page_event
from millrace.clients.log_site import infer_site
from millrace.clients.logs.combined_log import combined_entry
from millrace.clients.logs.log_entry import UnreadableLineError

SAMPLE = Path(__file__).resolve().parents[4] / "shared" / "data" / "apache_logs.log"
LINE = (
    b'203.0.113.9 - - [17/May/2015:12:05:03 +0200] "GET /a/b.html?q=1&r=2 HTTP/1.1" 200 512 '
    b'"http://www.google.com/search?q=x" "Mozilla/5.0 (X11)"'
)


def parse(line: bytes, number: int = 1, site: str | None = "shop.example") -> dict:
    return json.loads(page_event(line, number, site))


def sample_lines() -> list[bytes]:
    if not SAMPLE.is_file():
        pytest.skip(f"the real log is not there: {SAMPLE}")
    return SAMPLE.read_bytes().splitlines()


def test_log_fields_map_to_segment_page_event():
    event = parse(LINE)
    page = {
        "url": "http://shop.example/a/b.html?q=1&r=2",
        "path": "/a/b.html",
        "search": "?q=1&r=2",
        "referrer": "http://www.google.com/search?q=x",
    }
    assert event["type"] == "page"
    assert event["context"]["page"] == page
    assert event["context"]["userAgent"] == "Mozilla/5.0 (X11)"
    assert event["properties"] == page | {"method": "GET", "status": 200, "bytes": 512}
    assert "userId" not in event


def test_all_event_times_are_log_time_in_utc():
    event = parse(LINE)
    assert {event[name] for name in ("originalTimestamp", "sentAt", "receivedAt")} == {"2015-05-17T10:05:03Z"}


def test_anonymous_id_depends_on_address_and_user_agent():
    other_agent, other_address = LINE.replace(b"X11", b"X12"), LINE.replace(b"113.9", b"113.8")
    visitors = {parse(line)["anonymousId"] for line in (LINE, other_agent, other_address)}
    assert len(visitors) == 3
    assert parse(LINE.replace(b"/a/b", b"/c/d"))["anonymousId"] in visitors


def test_message_id_depends_on_line_number_and_content():
    uids = {parse(LINE, 1)["messageId"], parse(LINE, 2)["messageId"], parse(LINE + b" ", 1)["messageId"]}
    assert len(uids) == 3
    assert parse(LINE + b"\r\n", 1)["messageId"] in uids


def test_dash_means_missing_referrer_and_user_agent():
    line = re.sub(rb'"[^"]*" "[^"]*"$', b'"-" "-"', LINE)
    event = parse(line)
    assert "referrer" not in event["context"]["page"]
    assert "userAgent" not in event["context"]


@pytest.mark.parametrize(
    ("cut", "agent"),
    [(b"Mozilla/5.0 (X1", "Mozilla/5.0 (X1"), (b"", None), (b"half an escape\\", "half an escape")],
)
def test_line_truncated_in_user_agent_is_accepted(cut, agent):
    line = LINE[: LINE.index(b"Mozilla")] + cut
    assert parse(line)["context"].get("userAgent") == agent


def test_fields_after_user_agent_are_ignored():
    assert parse(LINE + b' 0.004 "shop"')["context"]["userAgent"] == "Mozilla/5.0 (X11)"


def test_escaped_quotes_are_part_of_their_field():
    assert parse(LINE.replace(b"X11", b'say \\"hi\\"'))["context"]["userAgent"] == 'Mozilla/5.0 (say "hi")'


def test_url_without_site_is_the_request_target():
    assert parse(LINE, site=None)["context"]["page"]["url"] == "/a/b.html?q=1&r=2"


def test_absolute_request_target_keeps_its_host():
    page = parse(LINE.replace(b"/a/b.html?", b"http://[other/x?"))["context"]["page"]
    assert (page["url"], page["path"]) == ("http://[other/x?q=1&r=2", "/x")


def test_authenticated_user_becomes_user_id():
    assert parse(LINE.replace(b"- - [", b"- ann [", 1))["userId"] == "ann"


def test_invalid_utf8_is_decoded_as_latin_1():
    assert parse(LINE.replace(b"X11", b"caf\xe9"))["context"]["userAgent"] == "Mozilla/5.0 (café)"
    assert parse(LINE.replace(b"X11", "café".encode()))["context"]["userAgent"] == "Mozilla/5.0 (café)"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"", "combined"),
        (b"hello", "combined"),
        (LINE[: LINE.index(b"Mozilla") - 1], "combined"),
        (LINE[: LINE.index(b"google")], "combined"),
        (LINE.replace(b"GET /a/b.html?q=1&r=2 HTTP/1.1", b"-"), "request"),
        (LINE.replace(b"17/May", b"32/May"), "no such time"),
        (LINE.replace(b"May", b"Mai"), "no time of the form"),
        (LINE.replace(b"2015", b"0001").replace(b"17/May", b"01/Jan"), "no such time|1970"),
        (LINE.replace(b"2015", b"1969"), "1970"),
    ],
)
def test_invalid_entry_is_rejected_with_reason(line, reason):
    with pytest.raises(UnreadableLineError, match=reason):
        page_event(line, 1, None)


@given(st.binary(max_size=300))
def test_arbitrary_bytes_give_an_event_or_a_rejection(junk):
    for line in (junk, LINE[:70] + junk, LINE.replace(b"X11", junk)):
        with suppress(UnreadableLineError):
            json.loads(page_event(line, 1, "shop.example"))


def test_long_line_is_parsed_without_backtracking():
    for line in ("1.2.3.4 - " + " [" * 500_000, "1.2.3.4 - - [t] " + "a " * 500_000, "a, " * 300_000):
        with pytest.raises(UnreadableLineError):  # would take hours if the parser backtracked
            combined_entry(line)


TEXT = st.text(st.characters(min_codepoint=32, exclude_categories=["Cs", "Cc"]), max_size=60)
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
MOMENTS = st.integers(86_400, 253_402_000_000).map(lambda second: EPOCH + timedelta(seconds=second))


@given(
    agent=TEXT, referrer=TEXT, at=MOMENTS, ahead=st.integers(-14 * 60, 14 * 60), status=st.integers(100, 599)
)
def test_log_entry_round_trips(agent, referrer, at, ahead, status):
    zone = timezone(timedelta(minutes=ahead))
    time = at.astimezone(zone)
    written = f"{time:%d/%b}/{time.year:04d}:{time:%H:%M:%S %z}"
    fields = [text.replace("\\", "\\\\").replace('"', '\\"') for text in (referrer, agent)]
    line = f'::1 - - [{written}] "POST /x HTTP/2.0" {status} - "{fields[0]}" "{fields[1]}"'
    event = parse(line.encode())
    assert event["context"].get("userAgent", agent) == agent
    assert event["context"]["page"].get("referrer", referrer) == referrer
    assert event["properties"]["status"] == status
    assert event["properties"]["bytes"] is None
    assert datetime.fromisoformat(event["receivedAt"].replace("Z", "+00:00")) == time


def test_real_log_is_parsed_completely():
    events = [parse(line, number) for number, line in enumerate(sample_lines(), start=1)]
    assert len({event["messageId"] for event in events}) == 10_000
    assert events[8898]["context"]["userAgent"].endswith("+http://www.google.com/bot.html")


def test_site_is_inferred_from_real_log():
    assert infer_site(sample_lines()[:1000]) == "semicomplete.com"


def test_site_is_not_inferred_without_internal_referrers():
    assert infer_site([LINE, b"hello", LINE.replace(b"www.google.com/search?q=x", b"[")]) is None
