"""Records of a topic are searched: keys, values and headers."""

import gzip

from privacy.search.matching.matcher import Matcher
from privacy.search.places import Place
from privacy.search.topic_search import Record, search_records


def test_identifiers_are_found_in_keys_values_and_headers() -> None:
    records = [
        Record(0, b"user-1234", b'{"userId": "user-1234", "anonymousId": "user-12345"}'),
        Record(1, b"user-12345", None, (("x-user-1234", None), ("who", b"user%2D1234"), ("b", b"user-1"))),
        Record(1, None, gzip.compress(b'{"userId": "user-1234"}')),
    ]
    count, places = search_records(Matcher(["user-1234"]), "topic events", iter(records * 700))
    assert count == 2100
    assert places == [
        Place("topic events/0", "key", "text", 700),
        Place("topic events/0", "value", "text", 700),
        Place("topic events/1", "header", "text", 700),
        Place("topic events/1", "header", "url", 700),
        Place("topic events/1", "value", "text", 700),
    ]


def test_empty_topic_has_no_places() -> None:
    assert search_records(Matcher(["user-1234"]), "topic events", iter([])) == (0, [])
