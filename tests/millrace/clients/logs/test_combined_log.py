"""Columns that servers write before, between and after those of the combined format."""

import json
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kit.parser import parse
from kit.records import Record
from millrace.clients.access_log import page_event
from millrace.clients.logs.combined_log import combined_entry
from millrace.clients.logs.log_entry import LogEntry, UnreadableLineError

CASES = Path(__file__).resolve().parents[5] / "shared" / "cases"
REST = '[27/Jan/2026:10:03:34 +0000] "GET /a?b=1 HTTP/1.1" 200 5 "https://x.example/" "Mozilla/5.0 (X11)"'
IP = "203.0.113.7"


def entry(head: str, rest: str = REST) -> LogEntry:
    return combined_entry(f"{head} {rest}")


HEADS = {
    "address, identity and user": (f"{IP} - dora", IP, "dora", None),
    "no user": (f"{IP} - -", IP, None, None),
    "an empty user": (f'{IP} - ""', IP, None, None),
    "a quoted dash as user": (f'{IP} "-" "-"', IP, None, None),
    "a user of dashes": (f"{IP} - --", IP, None, None),
    "a user with a dash in it": (f"{IP} - ann-marie", IP, "ann-marie", None),
    "a user with blanks": (f"{IP} - John Smith", IP, None, None),
    "a user with an escaped blank": (f"{IP} - John\\x20Smith", IP, None, None),
    "a user of a domain": (f"{IP} - SHOP\\\\ben", IP, "SHOP\\ben", None),
    "a name with a comma": (f"{IP} - Smith, John", IP, None, None),
    "no column of a user": (f"{IP} -", IP, None, None),
    "double blanks": (f"{IP}  -   dora ", IP, "dora", None),
    "tabs": (f"{IP}\t-\tdora\t", IP, "dora", None),
    "a virtual host": (f"www.shop.example {IP} - -", IP, None, "http://www.shop.example"),
    "a virtual host in capitals": (f"WWW.Shop.Example. {IP} - -", IP, None, "http://www.shop.example"),
    "a virtual host with port": (f"www.shop.example:80 {IP} - -", IP, None, "http://www.shop.example"),
    "a virtual host of TLS": (f"www.shop.example:443 {IP} - dora", IP, "dora", "https://www.shop.example"),
    "a virtual host without dots": (f"localhost {IP} - -", IP, None, "http://localhost"),
    "a virtual host of digits": (f"192.0.2.1:443 {IP} - -", IP, None, "https://192.0.2.1"),
    "a virtual host in brackets": (f"[2001:db8::2]:443 {IP} - -", IP, None, "https://[2001:db8::2]"),
    "a virtual host in double blanks": (
        f"www.shop.example   {IP}  -  -",
        IP,
        None,
        "http://www.shop.example",
    ),
    "a virtual host in quotes": (f'"www.shop.example" {IP} - -', IP, None, "http://www.shop.example"),
    "a virtual host that is missing": (f"- {IP} - dora", IP, "dora", None),
    "the server's default name": (f"_ {IP} - -", IP, None, None),
    "a virtual host after the address": (
        f"{IP} www.shop.example - dora",
        IP,
        "dora",
        "http://www.shop.example",
    ),
    "a virtual host and a client's name": (
        *("www.shop.example:443 client.example - dora", "client.example", "dora"),
        "https://www.shop.example",
    ),
    "a virtual host and no address": ("www.shop.example:80 - - -", "-", None, "http://www.shop.example"),
    "a client's name": ("client.example - dora", "client.example", "dora", None),
    "a client's name and port": ("client.example:5678 - -", "client.example", None, None),
    "a forwarded list": (f"{IP}, 10.0.0.1, 192.0.2.9 - dora", IP, "dora", None),
    "a forwarded list without blanks": (f"{IP},10.0.0.1 - -", IP, None, None),
    "a forwarded list in quotes": (f'"{IP}, 10.0.0.1" - -', IP, None, None),
    "a forwarded list with ports": (f"{IP}:4711, 10.0.0.1:80 - -", IP, None, None),
    "a forwarded list of an unknown client": (f"unknown, {IP}, 10.0.0.1 - -", IP, None, None),
    "a forwarded list and a virtual host": (
        *(f"www.shop.example:443 {IP}, 10.0.0.1 - dora", IP, "dora"),
        "https://www.shop.example",
    ),
    "a proxy and the address it forwards": (f"10.0.0.1 {IP} - -", IP, None, None),
    "a forwarded list and its proxy": (f"{IP}, 10.0.0.2 10.0.0.1 - dora", IP, "dora", None),
    "a port after the address": (f"{IP}:61264 - dora", IP, "dora", None),
    "a port after IPv6": ("[2001:db8::1]:80 - -", "2001:db8::1", None, None),
    "IPv6 in brackets": ("[2001:db8::1] - -", "2001:db8::1", None, None),
    "IPv6 in long form": ("2001:0DB8:0:0:0:0:0:1 - -", "2001:db8::1", None, None),
    "IPv4 written as IPv6": (f"::ffff:{IP} - -", IP, None, None),
    "a syslog prefix": (f"<190>Jul  2 10:00:00 10.0.0.5 nginx: {IP} - dora", IP, "dora", None),
    "a syslog prefix of a container": (f"2026-07-02T10:00:00Z web1 nginx[7]: {IP} - dora", IP, "dora", None),
    "a prefix of Docker": (f"web_1  | {IP} - dora", IP, "dora", None),
    "a prefix of Kubernetes": (f"2026-07-02T10:00:00.1Z stdout F {IP} - dora", IP, "dora", None),
}


@pytest.mark.parametrize("case", HEADS)
def test_columns_before_the_time_give_address_user_and_host(case: str) -> None:
    head, address, user, origin = HEADS[case]
    found = entry(head)
    assert (found.address, found.user) == (address, user)
    assert (f"{found.scheme}://{found.host}" if found.host else None) == origin


WORDS = st.text(st.sampled_from('ab-. :,1"\\[]_'), max_size=12)


@given(st.lists(WORDS, max_size=6).map(" ".join))
@example("- - - -")
def test_user_is_never_a_dash_or_a_blank(head: str) -> None:
    try:
        user = entry(head).user
    except UnreadableLineError:
        return
    assert user is None or (user.strip("-") and not set(user) & set(" \t"))


@pytest.mark.parametrize(
    ("after", "address"),
    [
        (' "203.0.113.7, 10.0.0.9"', IP),
        (' "203.0.113.7"', IP),
        (' "-"', "10.0.0.2"),
        (' 0.004 "203.0.113.7"', "10.0.0.2"),
    ],
)
def test_forwarded_address_after_user_agent_counts_behind_a_proxy_only(after: str, address: str) -> None:
    assert entry("10.0.0.2 - -", REST + after).address == address
    assert entry("198.51.100.1 - -", REST + after).address == "198.51.100.1"


def test_virtual_host_after_the_time_is_the_host() -> None:
    for written in ("www.shop.example", '"www.shop.example:443"'):
        found = entry(f"{IP} - -", REST.replace("] ", f"] {written} ", 1))
        assert (found.host, found.target) == ("www.shop.example", "/a?b=1")


@pytest.mark.parametrize(
    ("written", "agent"),
    [
        (r"say \x22hi\x22", 'say "hi"'),
        (r"caf\xC3\xA9 \xe9", "café é"),
        (r"back\x5Cx41 \\x41", r"back\x41 \x41"),
        (r"tab\tand \q", "tab\tand \\q"),
        (r"C:\\new", r"C:\new"),
    ],
)
def test_escapes_of_apache_and_nginx_are_decoded(written: str, agent: str) -> None:
    assert entry(f"{IP} - -", REST.replace("Mozilla/5.0 (X11)", written)).agent == agent


@pytest.mark.parametrize("cut", ["caf\\", "caf\\x", "caf\\xC"])
def test_escape_that_is_cut_off_is_left_out(cut: str) -> None:
    for head in (f"{IP} - -", f"www.shop.example:443 {IP} - -"):
        assert entry(head, REST[: REST.index("Mozilla")] + cut).agent == "caf"


def test_character_that_is_cut_off_is_left_out() -> None:
    line = f"{IP} - - {REST}".replace("x.example", "é.example")
    event = json.loads(page_event(line[: line.index("(X11")].encode() + "é".encode()[:1], 1, None))
    assert event["context"]["userAgent"] == "Mozilla/5.0 "
    assert event["context"]["page"]["referrer"] == "https://é.example/"


@pytest.mark.parametrize(
    ("written", "time"),
    [
        ("27/Jan/2026:10:03:34.250 +0100", "2026-01-27T09:03:34.250000Z"),
        ("27/Jan/2026:10:03:34 -0530", "2026-01-27T15:33:34Z"),
        ("27/Jan/2026:10:03:34", "2026-01-27T10:03:34Z"),
        ("2026-01-27T10:03:34+01:00", "2026-01-27T09:03:34Z"),
    ],
)
def test_time_is_read_in_the_notations_of_servers(written: str, time: str) -> None:
    assert entry(f"{IP} - -", REST.replace("27/Jan/2026:10:03:34 +0000", written)).time == time


def test_address_within_a_path_is_no_whole_url() -> None:
    line = f"www.shop.example {IP} - - {REST}".replace("/a?b=1", "/to/http://other.example/x")
    page = json.loads(page_event(line.encode(), 1, None))["context"]["page"]
    assert page["url"] == "http://www.shop.example/to/http://other.example/x"
    assert page["path"] == "/to/http://other.example/x"


def test_host_of_a_line_wins_over_the_site() -> None:
    def url(head: str) -> str:
        event = json.loads(page_event(f"{head} {REST}".encode(), 1, "shop.example"))
        return str(event["context"]["page"]["url"])

    assert url(f"www.shop.example:443 {IP} - -") == "https://www.shop.example/a?b=1"
    assert url(f"{IP} - -") == "http://shop.example/a?b=1"


def test_byte_order_mark_is_no_part_of_a_line() -> None:
    line = f"{IP} - dora {REST}".encode()
    assert page_event(b"\xef\xbb\xbf" + line, 1, None) == page_event(line, 1, None)


def rows_of(case: str) -> list[dict[str, object]]:
    """Events of a log of the cases, as silver reads them."""
    lines = (CASES / case / "input.log").read_bytes().splitlines()
    return parse([Record(page_event(line, number, None)) for number, line in enumerate(lines, 1)])


def test_log_with_virtual_hosts_has_visitors_users_and_hosts() -> None:
    rows = rows_of("01-vhost-log")
    assert len({row["visitor_id"] for row in rows}) == 2
    assert rows[0]["visitor_id"] == rows[2]["visitor_id"]
    assert [row["user_id"] for row in rows] == [None, None, "dora"]
    assert [row["url"] for row in rows] == [
        "https://www.shop.example/a?utm_source=news&utm_medium=email",
        "https://www.shop.example/b",
        "https://blog.shop.example/c",
    ]


def test_log_with_ports_has_one_visitor_by_address() -> None:
    visitors = [row["visitor_id"] for row in rows_of("04-address-with-port-log")]
    assert len(set(visitors)) == 2
    assert (visitors[0], visitors[2]) == (visitors[1], visitors[3])
