"""The job retention: applies conf/retention.yml."""

from lakehouse.run.job import JobContext
from millrace.operations.erase import erase_job
from millrace.operations.erasure_request import EXPIRED, prepare_expired
from privacy.erasure.retention import FILE, load_retention
from privacy.erasure.unfinished import unfinished
from privacy.requests.register import Register


def apply_retention(run: JobContext) -> None:
    """Erase persons whose span is over.

    An erasure of an earlier run that was interrupted is resumed first.
    """
    kept = load_retention(run.settings.conf)
    if kept.persons is None:
        run.log(f"everything is kept without end, by conf/{FILE}")
        return
    register = Register(run.settings.home)
    for number in unfinished(run.settings.home):
        if register.find(number).reference == EXPIRED:
            erase_job(number).body(run)
    if found := prepare_expired(run.settings):
        number, person = found
        run.log(f"request {number}: {len(person.identities):,} identities expired")
        erase_job(number).body(run)
