"""Conflating change groups into one keeps their net effect, and groups serialise to JSON lines."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from serving.sources.row_changes import ChangeGroup, RowChange, conflate

steps = st.lists(
    st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from([None, "1", "2"])), max_size=4),
    min_size=1,
    max_size=6,
)


def keyed_groups(steps: list[list[tuple[str, str | None]]]) -> tuple[list[ChangeGroup], dict[str, str]]:
    """Groups that set keys to values, each at most once a group, and the rows after them."""
    rows: dict[str, str] = {}
    groups = []
    for number, step in enumerate(steps):
        found = []
        for key, value in dict(step).items():
            before = rows.get(key)
            if before == value:
                continue
            found.append(
                RowChange(key.encode(), before and before.encode(), value.encode() if value else None)
            )
            if value is None:
                del rows[key]
            else:
                rows[key] = value
        groups.append(ChangeGroup(found, {"gold.things": number}))
    return groups, rows


@given(steps)
def test_conflation_by_key_keeps_first_before_and_last_after(
    steps: list[list[tuple[str, str | None]]],
) -> None:
    groups, rows = keyed_groups(steps)
    joined = conflate(groups)
    folded = {change.key.decode(): change.after.decode() for change in joined.rows if change.after}
    assert folded == rows
    assert all(change.before is None for change in joined.rows)  # there were no rows at first
    assert joined.position == groups[-1].position
    later = conflate(groups[1:]) if len(groups) > 1 else groups[0]
    assert len({change.key for change in later.rows}) == len(later.rows)


whole_steps = st.lists(st.tuples(st.sampled_from("ab"), st.booleans()), max_size=4)


@given(st.lists(whole_steps, min_size=2, max_size=5))
def test_conflation_without_key_cancels_inserts_and_deletes(steps: list[list[tuple[str, bool]]]) -> None:
    groups, net = [], Counter[bytes]()
    for number, step in enumerate(steps):
        found = []
        for text, is_insert in step:
            row = text.encode()
            found.append(RowChange(row, None, row) if is_insert else RowChange(row, row, None))
            net[row] += 1 if is_insert else -1
        groups.append(ChangeGroup(found, {"gold.things": number}, has_key=False))
    joined = conflate(groups)
    found_net = Counter[bytes]()
    for change in joined.rows:
        found_net[change.key] += 1 if change.before is None else -1
    assert {row: count for row, count in found_net.items() if count} == {
        row: count for row, count in net.items() if count
    }
    assert len(joined.rows) == sum(abs(count) for count in net.values())


def test_json_lines_contain_commit_fields_rows_and_position() -> None:
    rows = [
        RowChange(b"1", None, b'{"n":"\xc3\xa4"}', b'{"job":null}'),
        RowChange(b"2", b'{"n":2}', None),
    ]
    group = ChangeGroup(rows, {"gold.things": 3}, commit={"table": "t", "change": None})
    assert list(group.lines()) == [
        '{"table": "t", "change": "insert", "before": null, "after": {"n": "ä"}, "caused_by": {"job": null}}',
        '{"table": "t", "change": "delete", "before": {"n": 2}, "after": null}',
        '{"position": {"gold.things": 3}}',
    ]
