"""Runs a program that ends when its parent process ends, for whatever reason.

Called as a script, without imports: `parent_death_signal.py PARENT PROGRAM ARGUMENT…`.
The program replaces this process (exec), so it keeps the pid that the parent knows.
"""

import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Ask the kernel for SIGTERM on the parent's death (Linux only), then exec the program."""
    parent, command = int(sys.argv[1]), sys.argv[2:]
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:  # the parent died before the call
            raise SystemExit(1)
    try:
        os.execvp(command[0], command)
    except OSError as error:
        raise SystemExit(f"{command[0]} can't be run: {error.strerror}") from None


if __name__ == "__main__":
    main()
