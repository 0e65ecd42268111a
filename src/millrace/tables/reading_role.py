"""The role that commands read tables as."""

from lakehouse.access.policy import load_policy
from lakehouse.access.role import Role
from lakehouse.settings import Settings


def role_of(settings: Settings) -> Role | None:
    """The role of the setting `role`; None without one: everything is shown.

    Raises:
        MillraceError: if conf/access.yml has no such role, or is not as it should be.
    """
    return None if settings.role is None else load_policy(settings.conf, settings.home).role(settings.role)
