"""W3C extended logs, logs of load balancers, and JSON logs become the same entries as the combined format."""

import json
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakehouse.bundle_file import conf_folder
from lakehouse.errors import MillraceError
from lakehouse.run.rules_version import rules_version
from millrace.clients.access_log import AccessLog
from millrace.clients.logs.log_entry import LogEntry, UnreadableLineError
from millrace.clients.logs.log_formats_file import FILE, load_log_formats

FORMATS = load_log_formats(conf_folder())
IIS = """\ufeff#Software: Microsoft Internet Information Services 10.0
#Version: 1.0
#Date: 2026-01-27 10:00:00
#Fields: date time cs-method cs-uri-stem cs-uri-query s-port cs-username c-ip cs(User-Agent) cs(Referer)
2026-01-27 10:03:34 GET /a utm_source=news 443 - 203.0.113.7 Bot/1+(a;++http://b.example) https://x.example/
2026-01-27 10:03:35 GET /b - 80 SHOP\\ben 203.0.113.7 - -
"""
_CLOUDFRONT = (
    ("#Fields:", "date time sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status cs(User-Agent)"),
    ("2026-01-27", "10:03:34 1045 203.0.113.7 GET d1.cdn.example /a 200 Mozilla/5.0%20(X11;%20+x)"),
    ("2026-01-27", "10:03:34 1045 2001:DB8::1 GET d1.cdn.example /a 000 A%2520B"),
)
_MORE = (" cs-uri-query x-host-header cs-protocol", " b=1 www.shop.example https", " - - https added")
_ROWS = [f"{first} {columns}{more}" for (first, columns), more in zip(_CLOUDFRONT, _MORE, strict=True)]
CLOUDFRONT = "#Version: 1.0\n" + "\n".join([_ROWS[0], *(row.replace(" ", "\t") for row in _ROWS[1:])])
ALB = (
    "https 2026-01-27T10:03:34.186641Z app/lb/50dc 203.0.113.7:2817 10.0.0.1:80 0.086 0.048 0.037 "
    '200 200 34 57 "GET https://www.shop.example:443/a?b=1 HTTP/1.1" "Mozilla/5.0 (X11)" ECDHE TLSv1.2 x "-"'
)
ELB = (
    "2026-01-27T10:03:34.186641Z lb [2001:db8::1]:2817 10.0.0.1:80 0.1 0.1 0.1 200 200 0 29 "
    '"GET http://www.shop.example:8080/a HTTP/1.1" "curl/7.38.0" - -'
)
CADDY = {
    "ts": 1769508214.25,
    "request": {
        "remote_ip": "10.0.0.1",
        "client_ip": "203.0.113.7",
        "method": "GET",
        "host": "www.shop.example:8443",
        "uri": "/a?b=1",
        "headers": {"User-Agent": ["Mozilla/5.0 (X11)"], "Referer": ["https://x.example/"]},
        "tls": {"proto": "h2"},
    },
    "user_id": "",
    "size": 57,
    "status": 200,
}
TRAEFIK = {
    "ClientAddr": "203.0.113.7:1234",
    "ClientHost": "203.0.113.7",
    "ClientUsername": "-",
    "DownstreamContentSize": 57,
    "DownstreamStatus": 200,
    "RequestHost": "www.shop.example",
    "RequestMethod": "GET",
    "RequestPath": "/a?b=1",
    "RequestScheme": "https",
    "StartUTC": "2026-01-27T10:03:34.250000123Z",
    "request_User-Agent": "Mozilla/5.0 (X11)",
    "request_Referer": "https://x.example/",
}
NGINX = {
    "time_local": "27/Jan/2026:11:03:34.250 +0100",
    "remote_addr": "10.0.0.1",
    "http_x_forwarded_for": "203.0.113.7, 10.0.0.9",
    "remote_user": "-",
    "request": "GET /a?b=1 HTTP/1.1",
    "status": "200",
    "body_bytes_sent": "57",
    "http_referer": "https://x.example/",
    "http_user_agent": "Mozilla/5.0 (X11)",
    "host": "www.shop.example",
    "scheme": "https",
}


def entries(text: str) -> list[LogEntry]:
    """The entries of a log; directives give none."""
    log = AccessLog(FORMATS)
    read = [log.entry(line.encode()) for line in text.splitlines()]
    return [entry for entry in read if entry is not None]


def entry(line: object) -> LogEntry:
    (found,) = entries(line if isinstance(line, str) else json.dumps(line))
    return found


def reason(text: str) -> str:
    with pytest.raises(UnreadableLineError) as refused:
        entries(text)
    return str(refused.value)


def test_log_of_iis_is_read_by_its_fields() -> None:
    first, second = entries(IIS)
    assert (first.address, first.time, first.method) == ("203.0.113.7", "2026-01-27T10:03:34Z", "GET")
    assert (first.target, first.scheme, first.user) == ("/a?utm_source=news", "https", None)
    assert (first.agent, first.referrer) == ("Bot/1 (a; +http://b.example)", "https://x.example/")
    assert (second.target, second.scheme, second.status) == ("/b", "http", None)
    assert (second.user, second.agent, second.referrer) == ("SHOP\\ben", "", "")


def test_log_of_cloudfront_is_read_by_its_fields() -> None:
    first, second = entries(CLOUDFRONT)
    assert (first.host, first.scheme, first.target) == ("www.shop.example", "https", "/a?b=1")
    assert (first.agent, first.size) == ("Mozilla/5.0 (X11; +x)", 1045)
    assert (second.host, second.address, second.target) == ("d1.cdn.example", "2001:db8::1", "/a")
    assert second.agent == "A B"


def test_fields_may_change_within_a_w3c_log() -> None:
    text = "#Fields: time c-ip cs-uri\n#Date: 2026-01-27 10:00:00\n10:03:34 203.0.113.7 /a?b=1\n"
    more = (
        '#fields: date time c-ip cs-uri-stem cs(User-Agent)\n2026-01-28 10:03:34 192.0.2.1 /b "a ""b"" c"\n'
    )
    first, second = entries(text + more)
    assert (first.time, first.target, first.method) == ("2026-01-27T10:03:34Z", "/a?b=1", None)
    assert (second.time, second.target, second.agent) == ("2026-01-28T10:03:34Z", "/b", 'a "b" c')


@pytest.mark.parametrize(
    ("fields", "row", "why"),
    [
        ("date time c-ip cs-uri-stem", "2026-01-27 10:03:34 203.0.113.7", "number of columns"),
        ("date time c-ip cs-uri-stem", "2026-01-27 10:03:34 203.0.113.7 /a b", "number of columns"),
        ("date time cs-uri-stem", "2026-01-27 10:03:34 /a", "no c-ip"),
        ("date c-ip cs-uri-stem", "2026-01-27 203.0.113.7 /a", "no date and time"),
        ("date time c-ip", "2026-01-27 10:03:34 203.0.113.7", "no cs-uri-stem"),
        ("date time c-ip cs-uri-stem", "2026-02-30 10:03:34 203.0.113.7 /a", "no such time"),
    ],
)
def test_row_that_does_not_fit_its_fields_is_rejected(fields: str, row: str, why: str) -> None:
    assert why in reason(f"#Fields: {fields}\n{row}")


def test_rows_without_fields_and_comments_are_rejected() -> None:
    assert "a W3C extended log without its #Fields line" in reason("2026-01-27 10:03:34 203.0.113.7 /a")
    assert "combined" in reason("# a comment")


def test_log_of_application_load_balancer_is_read() -> None:
    found = entry(ALB)
    assert (found.address, found.time) == ("203.0.113.7", "2026-01-27T10:03:34.186641Z")
    assert (found.method, found.target) == ("GET", "https://www.shop.example/a?b=1")
    assert (found.status, found.size, found.agent) == (200, 57, "Mozilla/5.0 (X11)")


def test_log_of_classic_load_balancer_is_read() -> None:
    found = entry(ELB)
    assert (found.address, found.target) == ("2001:db8::1", "http://www.shop.example:8080/a")
    assert entry(ELB[: ELB.index("7.38")]).agent == "curl/"
    assert (
        entry(ELB[: ELB.index(' "curl')].replace("200 200", "504 0").replace("10.0.0.1:80", "-")).agent == ""
    )


def test_request_of_load_balancer_that_is_no_http_is_rejected() -> None:
    assert "no method and path" in reason(
        ALB.replace("GET https://www.shop.example:443/a?b=1", "- http://x:80-")
    )


@pytest.mark.parametrize(("line", "name"), [(CADDY, "caddy"), (TRAEFIK, "traefik"), (NGINX, "nginx")])
def test_json_log_is_read_by_the_paths_of_its_server(line: dict[str, object], name: str) -> None:
    assert entry(line) == LogEntry(
        notation=f"JSON log of {name}",
        address="203.0.113.7",
        time="2026-01-27T10:03:34.250000Z",
        method="GET",
        target="/a?b=1",
        status=200,
        size=57,
        referrer="https://x.example/",
        agent="Mozilla/5.0 (X11)",
        host="www.shop.example",
        scheme="https",
    )


def test_json_log_of_nginx_may_hold_escapes_that_are_no_json() -> None:
    line = json.dumps(NGINX).replace("Mozilla/5.0", r"caf\xC3\xA9 \x22x\x22 \\\\x41")
    assert entry(line).agent == 'café "x" \\\\x41 (X11)'


@pytest.mark.parametrize(
    "time",
    [
        *("1769508214", 1769508214, "1769508214000", 1769508214000000, "1769508214000000000"),
        *("2026-01-27T10:03:34Z", "2026-01-27 11:03:34 +0100", "2026/01/27 10:03:34"),
    ],
)
def test_json_log_may_have_unix_time_or_rfc_3339(time: object) -> None:
    assert (
        entry({"msec": time, "remote_addr": "192.0.2.1", "request_uri": "/"}).time == "2026-01-27T10:03:34Z"
    )


def test_json_log_of_other_keys_is_read_by_the_shops_own_paths(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(
        "json_logs: {mine: {address: [who.ip], time: [at], target: [what], query: [q]}}"
    )
    log = AccessLog(load_log_formats(tmp_path))
    line = {"who.ip": "192.0.2.1", "at": "2026-01-27T10:03:34Z", "what": "/a", "q": "?b=1"}
    found = log.entry(json.dumps(line).encode())
    assert found is not None
    assert (found.notation, found.target) == ("JSON log of mine", "/a?b=1")


def test_json_of_unknown_fields_is_rejected() -> None:
    assert f"JSON without the fields of any log in conf/{FILE}" in reason('{"a": 1}')
    assert "use --format segment" in reason('{"type": "page", "messageId": "1"}')


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("json_logs: {a: {adress: [x], time: [t]}}", r"json_logs\.a\.\w+"),
        ("not_read: [{name: a, pattern: '(', hint: b}]", "no regular expression"),
        ("json_logs: [", "log_formats.yml"),
    ],
)
def test_invalid_formats_file_is_reported_in_one_line(tmp_path: Path, content: str, problem: str) -> None:
    (tmp_path / FILE).write_text(content)
    with pytest.raises(MillraceError, match=problem):
        load_log_formats(tmp_path)


def test_formats_of_files_do_not_change_the_rules_version(tmp_path: Path) -> None:
    before = rules_version(tmp_path)
    (tmp_path / FILE).write_text("json_logs: {}")
    assert rules_version(tmp_path) == before


_ODD = st.one_of(
    st.text(max_size=40).map(str.encode),
    st.binary(max_size=40),
    st.sampled_from([b"#Fields: date time c-ip cs-uri cs(User-Agent)", ALB.encode(), b'"\\xC3', b"9" * 5000]),
)


@given(
    st.lists(_ODD, max_size=5),
    st.dictionaries(st.sampled_from([*NGINX]), st.one_of(st.text(), st.integers())),
)
def test_any_line_gives_an_event_a_directive_or_a_rejection(
    lines: list[bytes], more: dict[str, object]
) -> None:
    log = AccessLog(FORMATS)
    odd = json.dumps({**NGINX, "http_user_agent": "\ud800", **more}).encode()
    for number, line in enumerate([*lines, odd, odd.replace(b"M", b"\\xC"), ALB.encode() + b"\xe2"], 1):
        with suppress(UnreadableLineError):
            event = log.event(line, number, None)
            assert event is None or json.loads(event)["type"] == "page"


LOOK_ALIKES = {
    "a JSON array": '[{"type": "page"},',
    "JSON over several lines": "{",
    "a batch of Segment's HTTP API": '{"batch": [{"type": "page"}]}',
    "an export of Google Analytics 4": '{"event_timestamp": "1", "event_name": "purchase"}',
    "an export of Amplitude": '{"event_type": "view", "device_id": "d"}',
    "an export of Mixpanel or PostHog": '{"event": "view", "properties": {"distinct_id": "d"}}',
    "the common log format": '203.0.113.7 - - [27/Jan/2026:10:03:34 +0000] "GET /a HTTP/1.1" 200 5',
    "an error log of nginx": "2026/01/27 10:00:00 [error] 1#1: *2 open() failed",
    "an error log of Apache": "[Wed Oct 11 14:32:52.123456 2026] [core:error] [pid 1] x",
    "a log of HAProxy": "Feb  6 12:14:14 localhost haproxy[14389]: 10.0.1.2:33317 [06/Feb/2026] http-in",
    "an access log of Envoy": '[2026-01-27T10:00:00.310Z] "POST /api HTTP/2" 204 - 154 0 226 100',
    "an access log of S3": f"{'7' * 64} bucket [06/Feb/2026:00:00:38 +0000] 192.0.2.3 - 3E57 REST.GET.OBJECT",
    "a log of a network load balancer": "tls 2.0 2026-01-27T10:00:00 net/lb/c6 51 203.0.113.7:2817",
    "a log of Squid in its own format": "1769508214.123    45 203.0.113.7 TCP_MISS/200 1024 GET http://x.example/",
    "CSV": "date,visitor,url",
    "tab-separated values": "date\tvisitor\turl",
    "logfmt": 'time="2026-01-27" method=GET path=/a status=200',
    "XML or HTML": "<?xml version='1.0'?>",
    "a Parquet file": "PAR1\x15\x04",
    "an Avro file": "Obj\x01\x04",
    "a SQLite database": "SQLite format 3",
}


@pytest.mark.parametrize("name", LOOK_ALIKES)
def test_line_of_a_format_that_is_not_read_is_rejected_by_its_name(name: str) -> None:
    assert f"it looks like {name}" in reason(LOOK_ALIKES[name])


def test_every_format_that_is_not_read_has_an_example() -> None:
    unnamed = {each.name.partition(",")[0] for each in FORMATS.not_read} - LOOK_ALIKES.keys()
    assert unnamed == {"a W3C extended log without its #Fields line"}
