"""The register of requests of a home: who they are about is known as keyed hashes alone."""

import hmac
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Literal

from lakehouse.errors import MillraceError
from lakehouse.timestamps import rfc3339
from privacy.identities import Identity
from privacy.keys import FOLDER, RequestKey
from privacy.requests.chained_log import START, ChainedLog, Entry

State = Literal["open", "erasing", "erased", "proven", "closed"]

WARN_BEFORE = timedelta(days=7)
"""How long before its deadline an open request is warned of."""


@dataclass(frozen=True)
class Request:
    """A person's request.

    Args:
        id: year and number.
        reference: what it is known as elsewhere, as the number of a letter.
        received_at: when it came, in UTC.
        deadline: when it has to be done.
        state: open; erasing: an erasure was started; erased; proven: a search of everything found nothing;
            closed: by a person, with a reason.
        identities: keyed hashes of the person's user ids and visitors.
        note: how it was closed, what the last search found, or what was erased.
        shared: keyed hashes of visitors who were shared with others when the erasure was started.
        steps: of its erasure, which are done.
        versions: by table, its versions before and after the erasure.
        was_erased: whether an erasure has ended.
        is_erasing: whether one was started and has not ended, whatever was entered since.
    """

    id: str
    reference: str
    received_at: datetime
    deadline: datetime
    identities: frozenset[str]
    state: State = "open"
    note: str = ""
    shared: frozenset[str] = frozenset()
    steps: frozenset[str] = frozenset()
    versions: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    was_erased: bool = False
    is_erasing: bool = False

    def is_due(self, now: datetime) -> bool:
        """Whether it is open, and its deadline is near or over."""
        return self.state in ("open", "erasing") and self.deadline - WARN_BEFORE <= now


class Register:
    """Requests, in `privacy/requests.jsonl` of a home.

    Args:
        home: the folder of all local state.
    """

    def __init__(self, home: Path) -> None:
        self._key = RequestKey(home)
        self._log = ChainedLog(home / FOLDER / "requests.jsonl", lambda: self._key.secret)

    def requests(self) -> list[Request]:
        """All requests, the oldest first.

        Raises:
            MillraceError: if the register was changed.
        """
        found: dict[str, Request] = {}
        for entry in self._log.entries():
            found[entry["request"]] = _after(found.get(entry["request"]), entry)
        return list(found.values())

    def find(self, request: str) -> Request:
        """A request.

        Raises:
            MillraceError: if there is none, or the register was changed.
        """
        for each in self.requests():
            if each.id == request:
                return each
        raise MillraceError(f"there is no request {request}", "`millrace privacy requests` lists them")

    def open(
        self, identities: Iterable[Identity], reference: str, received_at: datetime, deadline: timedelta
    ) -> Request:
        """Enter a request.

        Args:
            identities: of the person; they are hashed.
            reference: what the request is known as.
            received_at: when it came, in UTC.
            deadline: how long it may take.
        """
        with self._log.appending() as append:
            number = 1 + sum(each.received_at.year == received_at.year for each in self.requests())
            entry = append(
                {
                    "event": "opened",
                    "request": f"{received_at:%Y}-{number:04}",
                    "reference": reference,
                    "at": rfc3339(datetime.now(timezone.utc)),
                    "received_at": rfc3339(received_at),
                    "deadline": rfc3339(received_at + deadline),
                    "identities": sorted(map(self.hash_of, identities)),
                }
            )
        return _after(None, entry)

    def close(self, request: str, reason: str, at: datetime) -> None:
        """Close a request for a reason."""
        self._add(request, {"event": "closed", "at": rfc3339(at), "note": reason})

    def add_proof(self, request: str, certificate: str, is_clean: bool, note: str, at: datetime) -> None:
        """Enter a certificate, by its SHA-256."""
        event = {"event": "proven" if is_clean else "found", "at": rfc3339(at), "note": note}
        self._add(request, {**event, "certificate": certificate})

    def start_erasure(self, request: str, shared: Iterable[Identity], at: datetime) -> None:
        """Enter that an erasure begins, or begins once more: all of its steps are to be done.

        Args:
            request: the request's number.
            shared: visitors of the person who have other users too.
            at: when it begins, in UTC.
        """
        hashes = sorted(map(self.hash_of, shared))
        entry = {"event": "erasing", "at": rfc3339(at), "note": "erasure started", "shared": hashes}
        self._add(request, entry)

    def add_step(self, request: str, step: str, at: datetime) -> None:
        """Enter that a step of an erasure is done."""
        self._add(request, {"event": "step", "at": rfc3339(at), "note": f"{step} done", "step": step})

    def add_erasure(
        self, request: str, note: str, versions: Mapping[str, tuple[int, int]], at: datetime
    ) -> None:
        """Enter that an erasure has ended.

        Args:
            request: the request's number.
            note: what was erased, in a sentence.
            versions: by table, its versions before and after.
            at: when it ended.
        """
        written = {name: list(each) for name, each in versions.items()}
        self._add(request, {"event": "erased", "at": rfc3339(at), "note": note, "versions": written})

    def abandon_erasure(self, request: str, note: str, at: datetime) -> None:
        """Enter that an erasure has ended before it has erased anything: the request is open again."""
        self._add(request, {"event": "abandoned", "at": rfc3339(at), "note": note})

    @property
    def secret(self) -> bytes:
        """The key of the hashes."""
        return self._key.secret

    def hash_of(self, identity: Identity) -> str:
        """The keyed hash of an identity: without the key, guesses can't be checked against it."""
        text = "\0".join(identity).encode(errors="surrogatepass")
        return hmac.digest(self.secret, text, "sha256").hex()

    def check(self, request: Request, identities: Collection[Identity]) -> None:
        """Check that identities are those of a request.

        Raises:
            MillraceError: if one is not of the request, or some are missing.
        """
        given = {self.hash_of(identity): identity for identity in identities}
        for name, identity in given.items():
            if name not in request.identities:
                raise MillraceError(
                    f"{identity.kind} {identity.value} is not of request {request.id}",
                    "Give the identities that `millrace privacy open` printed",
                )
        if lacking := len(request.identities - given.keys()):
            raise MillraceError(
                f"request {request.id} has {lacking} more identities, and only a search for all is a proof",
                "Give all that `millrace privacy open` printed, with --user and --visitor",
            )

    def head(self) -> tuple[int, str]:
        """Number of entries, and the hash of the last one."""
        entries = self._log.entries()
        return len(entries), entries[-1]["hash"] if entries else START

    def has(self, count: int, head: str, certificate: str) -> bool:
        """Whether entries up to a hash are in the register, and a certificate's SHA-256 after these."""
        entries = self._log.entries()
        is_known = 0 < count <= len(entries) and entries[count - 1]["hash"] == head
        return is_known and any(each.get("certificate") == certificate for each in entries[count:])

    def _add(self, request: str, event: Entry) -> None:
        with self._log.appending() as append:
            self.find(request)
            append({"request": request, **event})


def _after(before: Request | None, entry: Entry) -> Request:
    """A request after an entry of it."""
    if before is None:
        received_at, deadline = (
            datetime.fromisoformat(entry[name].replace("Z", "+00:00")) for name in ("received_at", "deadline")
        )
        identities = frozenset(entry["identities"])
        return Request(entry["request"], entry["reference"], received_at, deadline, identities)
    states: dict[str, State] = {
        "proven": "proven",
        "closed": "closed",
        "found": "open",
        "abandoned": "open",
        "erasing": "erasing",
        "step": "erasing",
        "erased": "erased",
    }
    after = replace(before, state=states[entry["event"]], note=entry["note"])
    match entry["event"]:
        case "erasing":
            shared = frozenset(entry["shared"])
            return replace(after, shared=shared, steps=frozenset(), versions={}, is_erasing=True)
        case "step":
            return replace(after, steps=after.steps | {entry["step"]})
        case "erased":
            versions = {name: (before_, now) for name, (before_, now) in entry["versions"].items()}
            return replace(after, versions=versions, was_erased=True, is_erasing=False)
        case "abandoned":
            return replace(after, is_erasing=False)
    return after
