"""The command `millrace`, and `python -m millrace`."""

import sys


def main() -> None:
    """Run the command line; if packages are missing, print which extra installs them."""
    verbose = "--verbose" in sys.argv
    try:
        from millrace.cli import main as run_command

        run_command()
    except ModuleNotFoundError as error:
        if verbose:
            raise
        raise SystemExit(_missing(error)) from None


def _missing(error: ModuleNotFoundError) -> str:
    return (
        f"millrace: the package {error.name} isn't installed; the command line comes with an extra. "
        "Install Millrace's wheel with the extra `local`"
    )


if __name__ == "__main__":
    main()
