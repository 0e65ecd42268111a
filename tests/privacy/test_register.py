"""The register of requests: chained, keyed, and without identities."""

import json
import stat
from datetime import datetime, timedelta, timezone
from pathlib import Path
from threading import Thread

import pytest

from lakehouse.errors import MillraceError
from privacy.identities import Identity
from privacy.requests.register import Register

NOW = datetime(2026, 11, 28, 12, tzinfo=timezone.utc)
ANN = [Identity("user", "ann"), Identity("visitor", "tablet")]
DEADLINE = timedelta(days=30)


def opened(home: Path) -> Register:
    register = Register(home)
    register.open(ANN, "letter 7", NOW, DEADLINE)
    return register


def file_of(home: Path) -> Path:
    return home / "privacy" / "requests.jsonl"


def test_request_is_registered_with_number_and_deadline(tmp_path: Path) -> None:
    register = opened(tmp_path)
    second = register.open(ANN[:1], "letter 8", NOW, timedelta(days=3))
    assert [each.id for each in Register(tmp_path).requests()] == ["2026-0001", "2026-0002"]
    assert register.find("2026-0002") == second
    assert (second.received_at, second.deadline, second.state) == (NOW, NOW + timedelta(days=3), "open")
    with pytest.raises(MillraceError, match="no request 2026-0003"):
        register.find("2026-0003")


def test_identities_are_stored_as_hashes_of_the_home(tmp_path: Path) -> None:
    opened(tmp_path / "a")
    opened(tmp_path / "b")
    texts = [file_of(tmp_path / home).read_text() for home in "ab"]
    assert [word for text in texts for word in ("ann", "tablet") if word in text] == []
    hashes = [set(json.loads(text)["identities"]) for text in texts]
    assert len(hashes[0]) == len(hashes[1]) == 2
    assert not hashes[0] & hashes[1]
    for file in (file_of(tmp_path / "a"), tmp_path / "a" / "privacy" / "requests.key"):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_state_follows_from_entries(tmp_path: Path) -> None:
    register = opened(tmp_path)
    register.add_proof("2026-0001", "ab", False, "found", NOW)
    assert register.find("2026-0001").state == "open"
    register.add_proof("2026-0001", "cd", True, "nothing", NOW)
    assert (register.find("2026-0001").state, register.find("2026-0001").note) == ("proven", "nothing")
    register.close("2026-0001", "withdrawn", NOW)
    assert (register.find("2026-0001").state, register.find("2026-0001").note) == ("closed", "withdrawn")


@pytest.mark.parametrize(("days", "is_due"), [(0, False), (22, False), (23, True), (31, True)])
def test_open_request_is_due_a_week_before_its_deadline(tmp_path: Path, days: int, is_due: bool) -> None:
    register = opened(tmp_path)
    assert register.find("2026-0001").is_due(NOW + timedelta(days=days)) is is_due
    register.close("2026-0001", "withdrawn", NOW)
    assert not register.find("2026-0001").is_due(NOW + timedelta(days=days))


def test_identities_are_checked(tmp_path: Path) -> None:
    register = opened(tmp_path)
    request = register.find("2026-0001")
    register.check(request, ANN)
    with pytest.raises(MillraceError, match="1 more identities"):
        register.check(request, ANN[:1])
    with pytest.raises(MillraceError, match="visitor ann is not of request"):
        register.check(request, [*ANN, Identity("visitor", "ann")])


def test_each_altered_byte_is_detected(tmp_path: Path) -> None:
    register = opened(tmp_path)
    register.open(ANN, "letter ä", NOW, DEADLINE)
    register.close("2026-0001", "withdrawn", NOW)
    file = file_of(tmp_path)
    content = file.read_bytes()
    for place in range(len(content)):
        for other in {content[place] ^ 1, content[place] ^ 0x20, 0x20} - {content[place]}:
            file.write_bytes(content[:place] + bytes([other]) + content[place + 1 :])
            with pytest.raises(MillraceError, match="not as it was written"):
                register.requests()
        file.write_bytes(content[:place] + content[place + 1 :])
        with pytest.raises(MillraceError, match="not as it was written"):
            register.requests()
    file.write_bytes(content)
    assert len(register.requests()) == 2


def test_lines_cannot_be_removed_moved_or_repeated(tmp_path: Path) -> None:
    register = opened(tmp_path)
    register.open(ANN, "letter 8", NOW, DEADLINE)
    register.close("2026-0001", "withdrawn", NOW)
    first, second, third = file_of(tmp_path).read_bytes().splitlines(keepends=True)
    for lines in ([second, third], [first, third], [second, first, third], [first, first, second, third]):
        file_of(tmp_path).write_bytes(b"".join(lines))
        with pytest.raises(MillraceError, match="not as it was written"):
            register.requests()


def test_changed_register_takes_no_entry(tmp_path: Path) -> None:
    register = opened(tmp_path)
    content = file_of(tmp_path).read_bytes().replace(b"letter", b"LETTER")
    file_of(tmp_path).write_bytes(content)
    with pytest.raises(MillraceError, match="line 1, is not as it was written"):
        register.open(ANN, "letter 8", NOW, DEADLINE)
    assert file_of(tmp_path).read_bytes() == content


def test_writers_at_the_same_time_wait_for_each_other(tmp_path: Path) -> None:
    writers = [Thread(target=opened, args=(tmp_path,)) for _ in range(8)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [each.id for each in Register(tmp_path).requests()] == [f"2026-{n:04}" for n in range(1, 9)]


def test_erasure_is_entered_step_by_step(tmp_path: Path) -> None:
    register, number = opened(tmp_path), "2026-0001"
    register.start_erasure(number, ANN[1:], NOW)
    register.add_step(number, "select", NOW)
    register.add_step(number, "silver", NOW)
    found = Register(tmp_path).find(number)
    assert (found.state, found.steps) == ("erasing", {"select", "silver"})
    assert found.shared == {register.hash_of(ANN[1])}
    assert found.is_due(NOW + DEADLINE)
    register.add_erasure(number, "7 records erased", {"silver.events": (3, 5)}, NOW)
    found = Register(tmp_path).find(number)
    assert (found.state, found.note, found.versions) == (
        "erased",
        "7 records erased",
        {"silver.events": (3, 5)},
    )
    assert not found.is_due(NOW + DEADLINE)


def test_erasure_that_begins_once_more_has_no_steps(tmp_path: Path) -> None:
    register, number = opened(tmp_path), "2026-0001"
    register.start_erasure(number, (), NOW)
    register.add_step(number, "select", NOW)
    register.add_erasure(number, "", {"silver.events": (3, 5)}, NOW)
    register.start_erasure(number, (), NOW)
    assert (register.find(number).steps, register.find(number).versions) == (set(), {})


def test_request_is_open_after_its_erasure_was_abandoned(tmp_path: Path) -> None:
    register, number = opened(tmp_path), "2026-0001"
    register.start_erasure(number, (), NOW)
    register.abandon_erasure(number, "nothing erased", NOW)
    found = register.find(number)
    assert (found.state, found.is_erasing, found.was_erased) == ("open", False, False)
