"""Admission control accepts, sheds or refuses requests by source and load."""

from hypothesis import given
from hypothesis import strategies as st

from intake.admission import Admission, Decision, Load, TokenBucket
from intake.sources import Overload, Source

KEY = ("0" * 64,)
PLAIN = Source(name="plain", key_sha256=KEY)
SHEDDING = Source(name="sheds", key_sha256=KEY, overload=Overload.SHED)
PROTECTED = Source(name="protected", key_sha256=KEY, protected=True)
LIMITED = Source(name="limited", key_sha256=KEY, protected=True, events_per_second=10)


def test_only_protected_sources_are_accepted_above_half_load() -> None:
    for load in (Load(queued=0.6), Load(logged=0.6)):
        decisions = [Admission().decide(source, 1, load, 0) for source in (PLAIN, SHEDDING, PROTECTED)]
        assert decisions == [Decision.REFUSE, Decision.SHED, Decision.TAKE]
    assert Admission().decide(SHEDDING, 1, Load(logged=0.6, shed=1), 0) is Decision.REFUSE
    for source in (PLAIN, SHEDDING, PROTECTED):
        assert Admission().decide(source, 1, Load(0.5, 0.5), 0) is Decision.TAKE


def test_full_capacity_is_used_without_protected_sources() -> None:
    for load in (Load(queued=0.9), Load(logged=0.9)):
        assert Admission().decide(PLAIN, 1, load, 0, has_reserve=False) is Decision.TAKE
        assert Admission().decide(SHEDDING, 1, load, 0, has_reserve=False) is Decision.SHED
    admission = Admission(capacity=10)
    decisions = [admission.decide(PLAIN, 10, Load(), 0, has_reserve=False) for _ in range(2)]
    assert decisions == [Decision.TAKE, Decision.REFUSE]


def test_protected_sources_have_priority_beyond_capacity() -> None:
    admission = Admission(capacity=100)
    assert admission.decide(PROTECTED, 150, Load(), 0) is Decision.TAKE
    assert admission.decide(PLAIN, 1, Load(), 0.4) is Decision.REFUSE
    assert admission.decide(SHEDDING, 1, Load(), 0.4) is Decision.SHED
    assert admission.decide(PROTECTED, 1, Load(), 0.4) is Decision.TAKE
    assert admission.decide(PLAIN, 1, Load(), 0.6) is Decision.TAKE


def test_rate_limit_applies_to_protected_source() -> None:
    admission = Admission()
    assert [admission.decide(LIMITED, 10, Load(), at) for at in (0, 0.01)] == [Decision.TAKE] * 2
    assert admission.decide(LIMITED, 1, Load(), 0.02) is Decision.REFUSE
    assert admission.decide(LIMITED, 1, Load(), 1.1) is Decision.TAKE


@given(
    requests=st.lists(st.tuples(st.floats(0, 0.3), st.integers(1, 40)), max_size=60),
    rate=st.integers(1, 100),
)
def test_token_bucket_bounds_rate_counting_at_most_one_second_per_request(
    requests: list[tuple[float, int]], rate: int
) -> None:
    bucket, now, passed = TokenBucket(rate), 0.0, 0
    assert bucket.has_room(now)
    for wait, events in requests:
        now += wait
        if bucket.has_room(now):
            assert passed <= rate * (now + 1) + 1e-6
            bucket.take(events)
            passed += min(events, rate)
