"""Records are a person's by the identities of their messages, and by their bytes where they have none."""

import json
from typing import Any

import pytest

from privacy.own_records import OwnRecords

OWN = OwnRecords(["42", "v-42"], frozenset({"null", "0"}))
ANN, EVE = b"v-42", b"v-7"


def value(**fields: Any) -> bytes:
    return json.dumps({"messageId": "m", "type": "page", **fields}).encode()


@pytest.mark.parametrize(
    ("key", "content", "is_erased", "is_exported"),
    [
        (ANN, value(userId="42", anonymousId="v-42"), True, True),
        (None, value(userId=42), True, True),
        (None, value(userId=" 42.0 "), False, False),
        (None, value(userId=42.0), True, True),
        (None, value(anonymousId="v-42"), True, True),
        (None, value(userId="0", anonymousId="v-42"), True, True),
        (None, b"\xef\xbb\xbf" + value(userId="42"), True, True),
        (EVE, value(userId="eve", anonymousId="v-7", properties={"total": 42, "seller": "42"}), False, False),
        (b"v-42-b", value(userId="eve"), False, False),
        (None, value(userId="eve", anonymousId="v-42"), True, False),
        (ANN, value(userId="eve", anonymousId="v-7"), True, False),
        (None, value(userId="42", anonymousId="v-7"), True, True),
        (None, value(user_id="42"), True, True),
        (None, value(userId="null", properties={"user": "42"}), True, True),
        (None, value(user_id="43"), False, False),
        (None, value(userId="42") + b"}", True, True),
        (None, b'{"userId": "eve", "total": 42', True, True),
        (ANN, b"no JSON", True, True),
        (ANN, None, True, True),
        (EVE, b"no JSON", False, False),
        (None, None, False, False),
    ],
)
def test_identities_of_a_message_decide_else_its_bytes(
    key: bytes | None, content: bytes | None, is_erased: bool, is_exported: bool
) -> None:
    other = (EVE, value(anonymousId="v-7"))
    records = [other, (key, content), other]
    assert OWN.to_erase(records) == ({1} if is_erased else set())
    assert OWN.to_export(records) == ({1} if is_exported else set())


def test_record_that_the_parser_fails_at_is_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError

    monkeypatch.setattr("privacy.own_records.identity", fail)
    assert OWN.to_erase([(None, value(userId="eve", total=42)), (None, value(userId="eve"))]) == {0}
