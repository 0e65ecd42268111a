"""The job retention: applies conf/retention.yml."""

from datetime import datetime, timezone

from lakehouse.run.job import JobContext
from millrace.operations.erase import erase_job
from millrace.operations.erasure_request import EXPIRED, prepare_expired, remove_ended
from privacy.erasure.retention import FILE, load_retention
from privacy.erasure.unfinished import unfinished
from privacy.requests.register import Register
from silver.old_records import remove_old_content


def apply_retention(run: JobContext) -> None:
    """Erase persons whose span is over, and remove the content of old records.

    An erasure of an earlier run that was interrupted is resumed first.
    """
    kept = load_retention(run.settings.conf)
    if kept.persons is None and kept.records is None:
        run.log(f"everything is kept without end, by conf/{FILE}")
        return
    register = Register(run.settings.home)
    remove_ended(register, run.settings.home)
    for number in unfinished(run.settings.home):
        if register.find(number).reference == EXPIRED:
            erase_job(number).body(run)
    if kept.persons and (found := prepare_expired(run.settings)):
        number, person = found
        run.log(f"request {number}: {len(person.identities):,} identities expired")
        erase_job(number).body(run)
    if kept.records:
        count = remove_old_content(run, datetime.now(timezone.utc) - kept.records)
        run.log(f"content of {count:,} old records removed from bronze")
