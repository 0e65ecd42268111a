"""Changes of trails computed conversion by conversion equal those of all trails at once."""

from hypothesis import given
from hypothesis import strategies as st

from folds.persons.records import TrailRow
from gold.credit.trail_changes import trail_changes
from lakehouse.contracts.gold import TRAILS
from lakehouse.rows.row_changes import RowDiff

_ROWS = st.dictionaries(
    st.tuples(st.sampled_from("abc"), st.integers(1, 4)), st.sampled_from(("visit", "goal")), max_size=9
)


def steps(rows: dict[tuple[str, int], str]) -> list[TrailRow]:
    at = {"a": 1, "b": 2, "c": 3}
    return [
        TrailRow(name, step, kind, "e", 0, at[name], None, None, None, None)
        for (name, step), kind in sorted(rows.items())
    ]


@given(_ROWS, _ROWS)
def test_trail_changes_by_conversion_equal_full_diff(
    before: dict[tuple[str, int], str], after: dict[tuple[str, int], str]
) -> None:
    found = [change for part in trail_changes(steps(before)[::-1], steps(after)) for change in part]
    wanted = RowDiff(TRAILS).compare(steps(before), steps(after))
    assert sorted(found, key=repr) == sorted(wanted, key=repr)
    parts = list(trail_changes(steps(before), steps(after)))
    assert all(len({change.row[0] for change in part}) <= 1 for part in parts)
