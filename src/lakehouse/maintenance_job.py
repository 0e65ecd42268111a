"""The maintenance job: what keeps the cost of tables flat."""

from lakehouse.job import Job, Run


def maintain(run: Run) -> None:
    """Put small files together and remove what nobody reads any more; streams go on meanwhile."""
    run.say("nothing yet")


main = Job("maintenance", maintain)
