"""The key of a record is its visitor."""

import pytest

from millrace.clients.record import key_of


@pytest.mark.parametrize(
    ("value", "key"),
    [
        (b'{"anonymousId":"a","userId":"u"}', b"a"),
        (b'{"anonymousId":"","userId":"u"}', b"u"),
        (b'{"anonymousId":null,"userId":42}', b"42"),
        ('{"anonymousId":"é"}'.encode(), "é".encode()),
        (b'{"anonymousId":"\\ud800"}', b"?"),
        (b'{"event":"x"}', None),
        (b'["a"]', None),
        (b'{"anonymousId":"a"', None),
        (b'{"anonymousId":"\xff"}', None),
        (b"[" * 100_000, None),
        (b"", None),
    ],
)
def test_key_is_anonymous_id_else_user_id_else_none(value, key):
    assert key_of(value) == key
