"""The fork servers of queries that this process has started."""

from collections.abc import Collection

import psutil


def fork_servers() -> set[psutil.Process]:
    """Those that run; other tests may have left some."""
    running = (each for each in psutil.Process().children() if each.status() != psutil.STATUS_ZOMBIE)
    return {each for each in running if any("fork_server" in part for part in each.cmdline())}


def new_fork_server(before: Collection[psutil.Process]) -> psutil.Process:
    """The one that has been started since."""
    (server,) = fork_servers() - set(before)
    return server
