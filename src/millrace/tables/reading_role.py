"""The role with which commands read tables."""

from lakehouse.access.policy import load_policy
from lakehouse.access.role import Role
from lakehouse.settings import Settings


def role_of(settings: Settings) -> Role | None:
    """The role in the setting `role`; None without one, which shows everything.

    Raises:
        MillraceError: if conf/access.yml has no such role, or is not valid.
    """
    return None if settings.role is None else load_policy(settings.conf, settings.home).role(settings.role)
