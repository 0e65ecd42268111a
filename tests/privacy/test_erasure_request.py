"""Whom an erasure is about: given identities, a file of them, or a request's hashes."""

import shutil
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from typer.testing import CliRunner

from kit.warehouse_builder import append_rows
from lakehouse.errors import MillraceError
from lakehouse.run.job import JobContext
from lakehouse.settings import Settings, load_settings
from millrace.cli import app, register_commands
from millrace.local.status.due_requests import due_requests
from millrace.operations import bodies
from millrace.operations.erasure_request import prepare_erasure, read_identities
from millrace.operations.privacy_proof import verify_proof
from privacy.erasure.unfinished import unfinished
from privacy.erasure.work_folder import WorkFolder
from privacy.identities import Identity
from privacy.requests.register import Register

NOW = datetime(2026, 11, 28, 12, tzinfo=timezone.utc)
SPANS = {"phone": ["ann"], "tablet": ["ann", "ben"], "kiosk": ["ben", "eve"]}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    rows: list[dict[str, Any]] = [
        {"visitor_id": visitor, "user_id": user, "valid_from": NOW + timedelta(days=number)}
        for visitor, users in SPANS.items()
        for number, user in enumerate(users)
    ]
    append_rows(tmp_path, "silver.identities", rows)
    visitors = [*SPANS, "stranger"]
    events = [{"event_id": each, "visitor_id": each, "event_time": NOW} for each in visitors]
    append_rows(tmp_path, "silver.events", events)
    return load_settings(home=tmp_path)


def test_request_is_opened_for_given_identities(settings: Settings) -> None:
    number, person = prepare_erasure(settings, None, ["ann"], ["stranger"], "letter")
    assert person.users == {"ann"}
    assert person.visitors == {"ann", "phone", "tablet", "stranger"}
    assert person.shared == {"tablet"}
    found = Register(settings.home).find(number)
    assert (found.state, found.reference, len(found.identities)) == ("erasing", "letter", 4)
    assert WorkFolder(settings.home, number).person() == person
    assert unfinished(settings.home) == [number]


def test_visitors_stand_for_their_user(settings: Settings) -> None:
    _, person = prepare_erasure(settings, None, ["eve"], ["phone", "kiosk"], "letter")
    assert person.users == {"ann", "eve"}


def test_visitor_of_several_users_is_refused(settings: Settings) -> None:
    with pytest.raises(MillraceError, match="kiosk is of several users: ben, eve"):
        prepare_erasure(settings, None, ["ann"], ["kiosk"], "letter")
    assert Register(settings.home).requests() == []


@pytest.mark.parametrize("given", [["ann"], []])
def test_request_finds_its_identities(settings: Settings, given: list[str]) -> None:
    register = Register(settings.home)
    identities = [Identity("user", "ann"), Identity("visitor", "phone"), Identity("visitor", "stranger")]
    number = register.open(identities, "letter", NOW, timedelta(days=30)).id
    _, person = prepare_erasure(settings, number, given, [], "")
    assert person.users == {"ann"}
    assert person.visitors == {"ann", "phone", "tablet"} | (set() if given else {"stranger"})


def test_identity_of_another_request_is_refused(settings: Settings) -> None:
    number = Register(settings.home).open([Identity("user", "ann")], "letter", NOW, timedelta(days=30)).id
    with pytest.raises(MillraceError, match=f"user ben is not of request {number}"):
        prepare_erasure(settings, number, ["ben"], [], "")


def test_interrupted_erasure_keeps_its_steps(settings: Settings) -> None:
    number, person = prepare_erasure(settings, None, ["ann"], [], "letter")
    Register(settings.home).add_step(number, "select", NOW)
    assert prepare_erasure(settings, number, [], [], "") == (number, person)
    assert Register(settings.home).find(number).steps == {"select"}


def test_erased_request_is_not_erased_again_nor_the_other_user_of_its_device(settings: Settings) -> None:
    register = Register(settings.home)
    tablet = Identity("visitor", "tablet")
    number = register.open([Identity("user", "cay"), tablet], "letter", NOW, timedelta(days=30)).id
    register.start_erasure(number, [tablet], NOW)
    with pytest.raises(MillraceError, match="nobody to erase"):  # cay's rows are gone, ann and ben stay
        prepare_erasure(settings, number, [], [], "")
    register.add_erasure(number, "3 records erased", {}, NOW)
    with pytest.raises(MillraceError, match=f"request {number} is erased already"):
        prepare_erasure(settings, number, [], [], "")


@pytest.mark.parametrize("given", [["stranger", "phone"], []])
def test_user_who_is_not_of_the_request_is_not_erased(settings: Settings, given: list[str]) -> None:
    identities = [Identity("visitor", "stranger"), Identity("visitor", "phone")]
    number = Register(settings.home).open(identities, "letter", NOW, timedelta(days=30)).id
    with pytest.raises(MillraceError, match="is of a user who is not"):  # phone is ann's by now
        prepare_erasure(settings, number, [], given, "")


def test_persons_of_an_interrupted_erasure_resume_it(settings: Settings) -> None:
    started = prepare_erasure(settings, None, ["ann", "eve"], [], "letter")
    assert prepare_erasure(settings, None, ["eve"], [], "again") == started
    with pytest.raises(MillraceError, match=f"request {started[0]} is being erased, and has some"):
        prepare_erasure(settings, None, ["eve", "ben"], [], "again")
    with pytest.raises(MillraceError, match="without some of these identities"):
        prepare_erasure(settings, started[0], ["ben"], [], "")
    number = Register(settings.home).open([Identity("user", "eve")], "letter", NOW, timedelta(days=30)).id
    with pytest.raises(MillraceError, match=f"request {started[0]} is being erased, and has some"):
        prepare_erasure(settings, number, ["eve"], [], "")


def test_file_of_identities(tmp_path: Path) -> None:
    file = tmp_path / "people.csv"
    file.write_text('kind,value\nuser,u-1\nvisitor,"a,b"\nuser,u-2\n')
    assert read_identities(file) == (["u-1", "u-2"], ["a,b"])
    file.write_text("kind,value\nuser,u-1\nperson,u-2\n")
    with pytest.raises(MillraceError, match="line 3, has no user and no visitor"):
        read_identities(file)
    with pytest.raises(MillraceError, match="can't be read"):
        read_identities(tmp_path / "none.csv")


def test_status_names_an_erasure_until_it_has_ended(settings: Settings) -> None:
    assert due_requests(settings) == []
    number, _ = prepare_erasure(settings, None, ["ann"], [], "letter")
    (line,) = due_requests(settings)
    assert f"`millrace erase --request {number}`" in line
    assert "ann" not in line
    WorkFolder(settings.home, number).remove()
    assert due_requests(settings) == []


@pytest.mark.parametrize("state", ["open", "closed"])
def test_identities_of_an_interrupted_erasure_stay_whatever_was_entered_since(
    settings: Settings, state: str
) -> None:
    number, person = prepare_erasure(settings, None, ["ann"], [], "letter")
    register = Register(settings.home)
    register.add_step(number, "silver", NOW)
    if state == "open":
        register.add_proof(number, "0" * 64, False, "found", NOW)
    else:
        register.close(number, "withdrawn", NOW)
    assert register.find(number).state == state
    prepare_erasure(settings, None, ["eve"], [], "other")
    assert prepare_erasure(settings, number, [], [], "") == (number, person)
    assert register.find(number).steps == {"silver"}


def test_identities_of_an_erasure_that_ended_before_a_crash_are_removed(settings: Settings) -> None:
    number, _ = prepare_erasure(settings, None, ["ann"], [], "letter")
    Register(settings.home).add_erasure(number, "3 records erased", {}, NOW)
    assert unfinished(settings.home) == [number]
    later, person = prepare_erasure(settings, None, ["ann"], [], "letter")
    assert later != number
    assert unfinished(settings.home) == [later]
    assert "ann" in person.users


Erase = Callable[[str], int]


@pytest.fixture(params=["command", "job"])
def erase_and_prove(
    request: pytest.FixtureRequest, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> Erase:
    """Erases a request by removing all tables, and writes a certificate. Returns the exit code."""
    monkeypatch.setenv("MILLRACE_HOME", str(settings.home))
    if not app.registered_commands:
        register_commands()

    def carry_out(_command: str, number: str, **_jobs: Any) -> None:
        shutil.rmtree(settings.warehouse)
        Register(settings.home).add_erasure(number, "3 records erased", {}, NOW)
        WorkFolder(settings.home, number).remove()

    def erase_job(number: str) -> Any:
        return SimpleNamespace(body=lambda _run: carry_out("erase", number))

    def by_command(number: str) -> int:
        return CliRunner().invoke(app, ("erase", "--request", number, "--prove")).exit_code

    def by_job(number: str) -> int:
        run = SimpleNamespace(settings=settings, parameters={"request": number}, log=lambda _line: None)
        try:
            bodies.erase(cast("JobContext", run))
        except MillraceError as error:
            return 3 if "could not be searched" in str(error) else 1
        return 0

    monkeypatch.setattr("millrace.commands.release.carry_out", carry_out)
    monkeypatch.setattr("millrace.operations.erase.erase_job", erase_job)
    return by_command if request.param == "command" else by_job


def certificate(settings: Settings, number: str) -> dict[str, Any]:
    (file,) = settings.home.glob(f"privacy/certificates/{number}-*.json")
    return verify_proof(settings, file, None)


def test_certificate_covers_visitors_that_the_person_has_used_since_the_request(
    settings: Settings, erase_and_prove: Erase
) -> None:
    register, opened = Register(settings.home), [Identity("user", "ann"), Identity("visitor", "phone")]
    number = register.open(opened, "letter", NOW, timedelta(days=30)).id
    append_rows(
        settings.home, "silver.identities", [{"visitor_id": "laptop", "user_id": "ann", "valid_from": NOW}]
    )
    assert erase_and_prove(number) == 0
    says = certificate(settings, number)
    visitors = [Identity("visitor", each) for each in ("laptop", "phone", "tablet")]
    assert says["request"]["identities"] == sorted(map(register.hash_of, [opened[0], *visitors]))
    assert says["searched"]["identifiers"] == 3, "the tablet is ben's too"
    assert register.find(number).state == "proven"


def test_certificate_lists_identities_that_the_erasure_did_not_find(
    settings: Settings, erase_and_prove: Erase
) -> None:
    register, unknown = Register(settings.home), Identity("visitor", "unknown")
    number = register.open([Identity("user", "eve"), unknown], "letter", NOW, timedelta(days=30)).id
    assert erase_and_prove(number) == 3
    says = certificate(settings, number)
    (lacking,) = says["not_searched"]
    assert lacking["file"] == f"identity {register.hash_of(unknown)}"
    assert register.find(number).state == "open"
