"""Unmodified SDKs of Segment and RudderStack against a collector that is killed while they send."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
import rudderstack.analytics.client as rudderstack
import segment.analytics.client as segment

from kit.collecting import collector, health, values_in
from kit.home import Home
from kit.polling import eventually
from millrace.local.process.ports import stable_port

EVENTS = 3000


@pytest.mark.parametrize("make", [segment.Client, rudderstack.Client], ids=["segment", "rudderstack"])
def test_sdk_delivers_every_event_despite_killed_collector(
    make: Callable[..., Any], new_home: Callable[..., Home]
) -> None:
    home, port = new_home(), stable_port()
    failed: list[object] = []
    client = make(
        "key", host=f"http://127.0.0.1:{port}", gzip=True, on_error=lambda error, _items: failed.append(error)
    )
    with collector(home, port):
        for number in range(EVENTS):
            client.track(f"user{number % 7}", "Counted", {"number": number})
            if number == EVENTS // 3:
                eventually(lambda: health(port)["forwarded"] > 0, 30)
                break
    with collector(home, port):
        for number in range(EVENTS // 3 + 1, EVENTS):
            client.track(f"user{number % 7}", "Counted", {"number": number})
        client.flush()
        client.join()
        eventually(lambda: health(port)["waiting"] == 0, 60)
    assert failed == []
    by_id = {str(value["messageId"]): value["properties"]["number"] for value in values_in(home)}
    assert Counter(by_id.values()) == dict.fromkeys(range(EVENTS), 1)
