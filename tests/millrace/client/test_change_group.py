import json

import pytest

from millrace.client import Change, Changes
from millrace.client import change_group as module


def _rows(*numbers: int) -> str:
    return json.dumps({"type": "rows", "rows": [{"number": number} for number in numbers]})


def test_rows_are_inserts_in_order() -> None:
    changes = Changes()
    changes.add(_rows(1, 2))
    changes.add(_rows(3))
    assert list(changes) == [Change("insert", None, {"number": number}) for number in (1, 2, 3)]


@pytest.mark.parametrize("most_bytes", [1, 1 << 20], ids=["in a file", "in memory"])
def test_changes_can_be_iterated_in_nested_loops(monkeypatch: pytest.MonkeyPatch, most_bytes: int) -> None:
    monkeypatch.setattr(module, "_MEMORY_BYTES", most_bytes)
    changes = Changes()
    for number in range(20):
        changes.add(_rows(number))
    pairs = [(a.after["number"], b.after["number"]) for a in changes for b in changes if a.after and b.after]
    assert pairs == [(a, b) for a in range(20) for b in range(20)]


def test_large_group_is_spilled_to_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MEMORY_BYTES", 1_000)
    changes = Changes()
    changes.add(_rows(1))
    assert changes._file._rolled is False  # type: ignore[attr-defined]
    changes.add(_rows(*range(1_000)))
    assert changes._file._rolled is True  # type: ignore[attr-defined]
    assert len(list(changes)) == 1_001


def test_empty_changes_are_falsy() -> None:
    changes = Changes()
    assert not changes
    changes.add(_rows())
    assert not changes
    changes.add(_rows(1))
    assert changes


def test_closed_changes_cannot_be_read() -> None:
    changes = Changes()
    changes.add(_rows(1))
    changes.close()
    with pytest.raises(ValueError, match="closed file"):
        list(changes)
