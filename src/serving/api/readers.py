"""Authenticates readers: by token, by session cookie, or as a program on this machine."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import NamedTuple

from starlette.requests import HTTPConnection

from lakehouse.access.policy import ADMIN, Policy
from lakehouse.access.role import Role
from lakehouse.access.tokens import Token
from lakehouse.errors import MillraceError
from lakehouse.http.loopback import is_of_other_origin, is_this_machine
from serving.api.fair_starts import FairStarts
from serving.api.sessions import COOKIE, Session, Sessions

TOKEN_HEADER = "millrace-token"
"""The header of a token where a proxy takes `Authorization`, as in front of an app of a workspace."""
LOCAL_NAME = "(local)"
"""Name of readers on this machine; tokens can't have it."""
_POLICY_SECONDS = 1.0


class UnknownReaderError(MillraceError):
    """A request without permission to read."""


class _Found(NamedTuple):
    """A reader by the current policy: name, role, and token if it has one."""

    name: str
    role: Role
    token: Token | None = None


@dataclass(frozen=True)
class Reader:
    """An authenticated reader.

    Args:
        name: name of the token; `(local)` for this machine.
        role: role of the reader.
        is_known: returns whether the same request would still be allowed, with the same role.
        token: its token; None for this machine.
        since: when the token was sent, in seconds since 1970, if the request has a cookie instead.
    """

    name: str
    role: Role
    is_known: Callable[[], bool]
    token: Token | None = None
    since: int | None = None

    @property
    def is_local(self) -> bool:
        """Whether it reads from this machine, without a token."""
        return self.name == LOCAL_NAME


class Readers:
    """Finds the reader of a request.

    Args:
        policy: returns the current roles and tokens.
        sessions: sessions of browsers.
        trusts_local: whether programs on this machine may read without a token.
    """

    def __init__(
        self, policy: Callable[[], Policy], sessions: Sessions, *, trusts_local: bool = False
    ) -> None:
        self._policy = policy
        self._sessions = sessions
        self._trusts_local = trusts_local
        self._starts = FairStarts()

    async def admit(self, connection: HTTPConnection) -> Reader:
        """The reader who sends a request, once it may begin: few of a reader do at the same time.

        Raises:
            UnknownReaderError: if the sender may not read.
        """
        reader = self.find(connection)
        await self._starts.begin(reader.name)
        return reader

    def find(self, connection: HTTPConnection) -> Reader:
        """The reader who sends a request.

        Raises:
            UnknownReaderError: if the sender may not read.
        """
        _require_own_page(connection)
        kind, _, sent = connection.headers.get("authorization", "").partition(" ")
        own = connection.headers.get(TOKEN_HEADER)
        if own or kind.lower() == "bearer":
            return self._reader(lambda: self._by_token((own or sent).strip()))
        if (cookie := connection.cookies.get(COOKIE)) is not None:
            session = self._sessions.read(cookie)  # checked once: a stream outlives its cookie
            return self._reader(lambda: self._by_session(session), None if session is None else session.since)
        if not self._trusts_local or not is_from_here(connection):
            raise UnknownReaderError("no token was sent", "Send one as `Authorization: Bearer TOKEN`")
        return self._reader(self._by_machine)

    async def follow_policy(self) -> None:
        """Check the policy file for changes every second, even without requests."""
        while True:
            self._policy()
            await asyncio.sleep(_POLICY_SECONDS)

    def role_of(self, name: str) -> Role | None:
        """The current role of a reader by name; None if the reader may no longer read."""
        found = self._by_machine() if name == LOCAL_NAME else self._first(lambda token: token.name == name)
        return None if found is None else found.role

    def _reader(self, look: Callable[[], _Found | None], since: int | None = None) -> Reader:
        found = look()
        if found is None:
            raise UnknownReaderError(
                "the token is not known or has expired", "`millrace token NAME --role ROLE` makes one"
            )
        fingerprint = found.role.fingerprint

        def is_known() -> bool:
            again = look()
            return again is not None and again.role.fingerprint == fingerprint

        return Reader(found.name, found.role, is_known, found.token, since)

    def _by_token(self, sent: str) -> _Found | None:
        policy = self._policy()
        token = policy.token(sent, datetime.now(timezone.utc))
        return None if token is None else _Found(token.name, policy.role(token.role), token)

    def _by_session(self, session: Session | None) -> _Found | None:
        return None if session is None else self._first(session.is_of)

    def _first(self, is_wanted: Callable[[Token], bool]) -> _Found | None:
        """The first wanted token that is still declared and has not expired."""
        policy, now = self._policy(), datetime.now(timezone.utc)
        for token in filter(is_wanted, policy.tokens):
            if token.expires is None or now < token.expires:
                return _Found(token.name, policy.role(token.role), token)
        return None

    def _by_machine(self) -> _Found | None:
        """Name and role of trusted readers on this machine, who see all while nothing is declared."""
        if not self._trusts_local:
            return None
        policy = self._policy()
        role = policy.role(ADMIN) if policy.is_empty else policy.local_role
        return None if role is None else _Found(LOCAL_NAME, role)


def is_from_here(connection: HTTPConnection) -> bool:
    """Whether the sender is on this machine, uses a local host name, and is not a proxy."""
    return is_this_machine(connection.client.host if connection.client else None, connection.headers)


def _require_own_page(connection: HTTPConnection) -> None:
    """Refuse pages of other sites: browsers send cookies with their WebSocket requests too."""
    origin = connection.headers.get("origin")
    is_of_other = origin is not None and origin.partition("://")[2] != connection.headers.get("host")
    if is_of_other or is_of_other_origin(connection.headers):
        raise UnknownReaderError("pages of other sites may not read", "Serve the page from the same host")
