"""Follows conf/access.yml, so that roles and tokens change while a service runs."""

import time
from collections.abc import Callable
from pathlib import Path

from lakehouse.access.policy import FILE, Policy, load_policy
from lakehouse.followed_file import FollowedFile


class PolicyFile(FollowedFile[Policy]):
    """The current policy. A changed file is read once it is the same at two checks: half may allow more.

    Args:
        conf: folder of the file.
        home: the home, which has the key of masked values.
        clock: monotonic seconds.
    """

    def __init__(self, conf: Path, home: Path, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(
            conf / FILE,
            lambda: load_policy(conf, home),
            lambda policy: policy.is_empty,
            "access stays as it was",
            twice=True,
            clock=clock,
        )
