"""The access policy of conf/access.yml: which role a token, an account or a local connection has."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date as Date
from datetime import datetime, time, timezone
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from lakehouse.access.mask_key import MaskKey
from lakehouse.access.role import Role
from lakehouse.access.role_entries import RoleEntry
from lakehouse.access.tokens import Token, find_token
from lakehouse.bundle_file import read_private_yaml
from lakehouse.errors import MillraceError, first_problem

FILE = "access.yml"
ADMIN = "admin"
"""The built-in role that sees everything."""

_NEXT_STEP = "docs/access.md has an example"


@dataclass(frozen=True)
class Policy:
    """Roles, and the tokens and accounts that have them.

    Args:
        roles: by name.
        tokens: the declared ones.
        accounts: by email address in lower case, the name of its role.
        account_default: name of the role of other accounts; None: they see nothing.
        is_default_declared: whether the file has `account_default`.
        local: name of the role of connections from this machine without a token; None: they are refused.
    """

    roles: Mapping[str, Role]
    tokens: tuple[Token, ...] = ()
    accounts: Mapping[str, str] = field(default_factory=dict)
    account_default: str | None = ADMIN
    is_default_declared: bool = False
    local: str | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing is declared."""
        is_assigned = self.tokens or self.accounts or self.local or self.account_default != ADMIN
        return not is_assigned and len(self.roles) == 1

    @property
    def local_role(self) -> Role | None:
        """The role of connections from this machine without a token; None: they are refused."""
        return None if self.local is None else self.role(self.local)

    def role(self, name: str) -> Role:
        """The role of that name.

        Raises:
            MillraceError: if there is none.
        """
        if name not in self.roles:
            raise MillraceError(f"there is no role {name}", f"conf/{FILE} has {', '.join(self.roles)}")
        return self.roles[name]

    def token(self, token: str, now: datetime) -> Token | None:
        """The declared token, with its role and its reader's name; None if it is unknown or has expired.

        Args:
            token: the token that the reader sent.
            now: the time, with a time zone.
        """
        return find_token(self.tokens, token, now)

    def role_of_account(self, email: str | None, is_allowed: bool) -> Role | None:
        """The role of an account of the pages' login; None: it sees nothing.

        Args:
            email: the address; None for an account without one that is verified.
            is_allowed: whether another list says that the account may log in. Else only accounts of the file
                have a role, unless the file has `account_default`.
        """
        default = self.account_default if is_allowed or self.is_default_declared else None
        name = self.accounts.get((email or "").lower(), default)
        return None if name is None else self.role(name)


class _TokenEntry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")
    token_sha256: str = Field(pattern="^[0-9a-f]{64}$")
    role: str
    expires: datetime | Date | None = None

    @field_validator("token_sha256", mode="before")
    @classmethod
    def _lower_case(cls, given: Any) -> Any:
        return str(given).lower()

    @field_validator("expires", mode="before")
    @classmethod
    def _is_a_time(cls, given: Any) -> Any:
        if given is not None and not isinstance(given, Date):
            raise ValueError("has to be a day, as 2027-01-01, or a time")
        return given

    def to_token(self) -> Token:
        at = self.expires
        if at is not None and not isinstance(at, datetime):
            at = datetime.combine(at, time())
        if at is not None and at.tzinfo is None:
            at = at.replace(tzinfo=timezone.utc)
        return Token(self.name, self.token_sha256, self.role, at)


class _Document(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    roles: dict[str, RoleEntry] = {}
    tokens: tuple[_TokenEntry, ...] = ()
    accounts: dict[str, str] = {}
    account_default: str | None = ADMIN
    local: str | None = None

    @field_validator("roles", "tokens", "accounts", mode="before")
    @classmethod
    def _may_be_empty(cls, given: Any, info: Any) -> Any:
        return ((), {})[info.field_name != "tokens"] if given is None else given


def load_policy(conf: Path, home: Path) -> Policy:
    """Read conf/access.yml. Without the file there are no tokens, and the pages show everything.

    Args:
        conf: folder of the file.
        home: the home, which has the key of masked values.

    Raises:
        MillraceError: if the file is not valid; it names the entry and the reason.
    """
    try:
        return _policy(read_private_yaml(conf / FILE, _NEXT_STEP), MaskKey(home))
    except ValidationError as error:
        problem = first_problem(error)
    except ValueError as error:
        problem = str(error)
    raise MillraceError(f"conf/{FILE}: {problem}", _NEXT_STEP)


def _policy(document: object, key: MaskKey) -> Policy:
    entry = _Document.model_validate({} if document is None else document)
    if ADMIN in entry.roles:
        raise ValueError(f"role {ADMIN} is built in: give yours another name")
    roles = {ADMIN: Role(ADMIN, key), **{name: each.to_role(name, key) for name, each in entry.roles.items()}}
    tokens = tuple(each.to_token() for each in entry.tokens)
    _check_unique("token", [token.name for token in tokens])
    _check_unique("token_sha256 of token", [token.sha256 for token in tokens], [each.name for each in tokens])
    accounts = {email.lower(): role for email, role in entry.accounts.items()}
    named = [(f"token {each.name}", each.role) for each in tokens]
    named += [(f"account {email}", role) for email, role in accounts.items()]
    named += [("account_default", entry.account_default or ADMIN), ("local", entry.local or ADMIN)]
    for who, role in named:
        if role not in roles:
            raise ValueError(f"{who} has the role {role}, which is not declared")
    is_default_declared = "account_default" in entry.model_fields_set
    return Policy(roles, tokens, accounts, entry.account_default, is_default_declared, entry.local)


def _check_unique(what: str, values: list[str], names: list[str] | None = None) -> None:
    for place, value in enumerate(values):
        if value in values[:place]:
            raise ValueError(f"{what} {(names or values)[place]} is there twice")
