"""The role with which commands read tables."""

from typing import TYPE_CHECKING

from lakehouse.access.policy import load_policy
from lakehouse.access.role import Role
from lakehouse.errors import MillraceError

if TYPE_CHECKING:
    from lakehouse.settings import Settings


def role_of(settings: "Settings") -> Role | None:
    """The role in the setting `role`; None without one, which shows everything.

    Raises:
        MillraceError: if conf/access.yml has no such role, or is not valid.
    """
    return None if settings.role is None else load_policy(settings.conf, settings.home).role(settings.role)


PRIVACY = "privacy"
"""The role of those who answer requests of persons, if conf/access.yml declares one of this name."""


def answers_requests(role: Role) -> bool:
    """Whether a role may see the data of a person who asks for it: `PRIVACY`, or one that sees everything."""
    return role.name == PRIVACY or role.is_unrestricted


def require_privacy(settings: "Settings") -> None:
    """Check that a person's data may be read, whole.

    Raises:
        MillraceError: if the role is another one than `PRIVACY` and does not see everything.
    """
    role = role_of(settings)
    if role is not None and not answers_requests(role):
        raise MillraceError(
            f"role {role.name} may not see all data of a person",
            f"Unset MILLRACE_ROLE, or declare a role {PRIVACY} in conf/access.yml and use that",
        )
