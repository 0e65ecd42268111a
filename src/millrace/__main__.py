"""`python -m millrace`: the command line in this Python."""

from millrace.cli import main

if __name__ == "__main__":
    main()
