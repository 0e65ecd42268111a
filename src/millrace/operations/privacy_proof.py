"""Proves what is left of a person: a search, a signed certificate of it, and an entry in the register."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from hashlib import sha256
from pathlib import Path
from typing import Any

from lakehouse.errors import MillraceError
from lakehouse.files import replace_file
from lakehouse.settings import Settings
from millrace.operations.privacy_search import person_of, search
from privacy.certificates.certificate import describe_search, public_key, sign, summary, verify
from privacy.identities import Identity, Person
from privacy.keys import FOLDER, SigningKey
from privacy.requests.register import Register
from privacy.search.home_search import SearchResult
from privacy.search.places import Unread

Proof = tuple[SearchResult, Path, str]
"""The result of a search, the file of its certificate, and the result in a sentence."""

_UNKNOWN = "silver did not have it when the erasure began: give it to `millrace privacy prove`"


def write_proof(
    settings: Settings,
    number: str,
    users: Sequence[str],
    visitors: Sequence[str],
    also: Sequence[str],
    topics: Sequence[str],
    out: Path | None,
) -> Proof:
    """Search for the identities of a request, and write a certificate.

    Args:
        settings: the settings in force.
        number: of the request.
        users: its user ids.
        visitors: its visitors; those that silver.identities knows need not be given.
        also: other texts to find.
        topics: topics to search.
        out: file of the certificate; None: one in the home.

    Raises:
        MillraceError: if the identities are not those of the request, or the register was changed.
    """
    register = Register(settings.home)
    request = register.find(number)
    given = {Identity("user", each) for each in users} | {Identity("visitor", each) for each in visitors}
    known = {
        each
        for each in person_of(settings, users, visitors).identities
        if register.hash_of(each) in request.identities
    }
    register.check(request, given | known)
    return _prove(settings, number, given | known, also, topics, out)


def prove_erasure(settings: Settings, number: str, person: Person, topics: Sequence[str]) -> Proof:
    """Search for the identities that were erased for a request, and write a certificate.

    They may be more than those of the request: visitors that the person has used since. Identities of the
    request that were not found when the erasure began are listed as not searched.

    Args:
        settings: the settings in force.
        number: of the request.
        person: the erased identities.
        topics: topics to search.

    Raises:
        MillraceError: if all are shared with others, or the register was changed.
    """
    return _prove(settings, number, person.identities, (), topics, None)


def _prove(
    settings: Settings,
    number: str,
    identities: Collection[Identity],
    also: Sequence[str],
    topics: Sequence[str],
    out: Path | None,
) -> Proof:
    register = Register(settings.home)
    request = register.find(number)
    searched = {register.hash_of(each): each.value for each in identities}
    shared = {value for name, value in searched.items() if name in request.shared}
    texts = sorted(set(searched.values()) - shared | set(also))
    if not texts:
        raise MillraceError(f"all identities of request {number} are shared with others", "Give --also")
    started_at = datetime.now(timezone.utc)
    result = search(settings, texts, topics)
    lacking = sorted(request.identities - searched.keys())
    result.unread += [Unread(f"identity {name}", _UNKNOWN) for name in lacking]
    ended_at = datetime.now(timezone.utc)
    covered = replace(request, identities=request.identities | searched.keys())
    body = describe_search(covered, result, started_at, ended_at, texts, register.head())
    certificate = sign(body, SigningKey(settings.home).secret)
    file = out or settings.home / FOLDER / "certificates" / f"{number}-{ended_at:%Y%m%dT%H%M%S}.json"
    replace_file(file, certificate, mode=0o600)
    line = summary(result)
    register.add_proof(number, sha256(certificate).hexdigest(), result.is_clean, line, ended_at)
    return result, file, line


def verify_proof(settings: Settings, file: Path, key: str | None) -> dict[str, Any]:
    """What a certificate says, once it is verified.

    Args:
        settings: the settings in force.
        file: of the certificate.
        key: the public key; None: that of the home, whose register has to have the certificate.

    Raises:
        MillraceError: if it is not valid, or the register does not have it.
    """
    try:
        content = file.read_bytes()
    except OSError as error:
        raise MillraceError(
            f"{file} can't be read: {error.strerror}", "Name the file of a certificate"
        ) from error
    if key is not None:
        return verify(content, key.strip().lower())
    own = SigningKey(settings.home)
    if not own.is_there:
        raise MillraceError(
            f"{settings.home} has signed no certificate",
            "Give the key that `millrace privacy key` prints there",
        )
    says = verify(content, public_key(own.secret))
    entries = says["register"]
    if not Register(settings.home).has(entries["entries"], entries["hash"], sha256(content).hexdigest()):
        raise MillraceError("the certificate is not in the register", "Restore the register from a backup")
    return says
