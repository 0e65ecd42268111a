"""Admission: what is taken, shed or refused."""

from hypothesis import given
from hypothesis import strategies as st

from intake.admission import Admission, Decision, Load, TokenBucket
from intake.sources import Overload, Source

KEY = ("0" * 64,)
PLAIN = Source(name="plain", key_sha256=KEY)
SHEDS = Source(name="sheds", key_sha256=KEY, overload=Overload.SHED)
PROTECTED = Source(name="protected", key_sha256=KEY, protected=True)
LIMITED = Source(name="limited", key_sha256=KEY, protected=True, events_per_second=10)


def test_protected_sources_are_taken_while_others_are_refused_or_shed() -> None:
    for load in (Load(queued=0.6), Load(logged=0.6)):
        decisions = [Admission().decide(source, 1, load, 0) for source in (PLAIN, SHEDS, PROTECTED)]
        assert decisions == [Decision.REFUSE, Decision.SHED, Decision.TAKE]
    assert Admission().decide(SHEDS, 1, Load(logged=0.6, shed=1), 0) is Decision.REFUSE
    for source in (PLAIN, SHEDS, PROTECTED):
        assert Admission().decide(source, 1, Load(0.5, 0.5), 0) is Decision.TAKE


def test_without_protected_sources_all_room_is_used() -> None:
    for load in (Load(queued=0.9), Load(logged=0.9)):
        assert Admission().decide(PLAIN, 1, load, 0, has_reserve=False) is Decision.TAKE
        assert Admission().decide(SHEDS, 1, load, 0, has_reserve=False) is Decision.SHED
    admission = Admission(capacity=10)
    decisions = [admission.decide(PLAIN, 10, Load(), 0, has_reserve=False) for _ in range(2)]
    assert decisions == [Decision.TAKE, Decision.REFUSE]


def test_beyond_capacity_protected_sources_go_first() -> None:
    admission = Admission(capacity=100)
    assert admission.decide(PROTECTED, 150, Load(), 0) is Decision.TAKE
    assert admission.decide(PLAIN, 1, Load(), 0.4) is Decision.REFUSE
    assert admission.decide(SHEDS, 1, Load(), 0.4) is Decision.SHED
    assert admission.decide(PROTECTED, 1, Load(), 0.4) is Decision.TAKE
    assert admission.decide(PLAIN, 1, Load(), 0.6) is Decision.TAKE


def test_a_sources_own_limit_holds_though_it_is_protected() -> None:
    admission = Admission()
    assert [admission.decide(LIMITED, 10, Load(), at) for at in (0, 0.01)] == [Decision.TAKE] * 2
    assert admission.decide(LIMITED, 1, Load(), 0.02) is Decision.REFUSE
    assert admission.decide(LIMITED, 1, Load(), 1.1) is Decision.TAKE


@given(
    requests=st.lists(st.tuples(st.floats(0, 0.3), st.integers(1, 40)), max_size=60),
    rate=st.integers(1, 100),
)
def test_what_passes_a_limit_is_at_most_its_rate_and_two_seconds_more(
    requests: list[tuple[float, int]], rate: int
) -> None:
    bucket, now, passed, largest = TokenBucket(rate), 0.0, 0, 0
    for wait, events in requests:
        now += wait
        if bucket.has_room(now):
            bucket.take(events)
            passed += min(events, rate)
            largest = max(largest, events)
    assert passed <= rate * (now + 2) + 1e-6
