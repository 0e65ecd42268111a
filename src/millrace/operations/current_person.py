"""The person of an erasure, as silver knows it when the erasure begins."""

from pyspark.sql import functions as F

from lakehouse.contracts.ops import ERASED_RECORDS
from lakehouse.errors import MillraceError
from lakehouse.run.job import JobContext
from lakehouse.run.ledger import now
from millrace.operations.erasure_request import EXPIRED
from privacy.erasure.selection import with_new_visitors
from privacy.erasure.work_folder import WorkFolder
from privacy.identities import Person
from privacy.requests.register import Register


def current_person(run: JobContext, request: str) -> Person:
    """The person of an erasure with all visitors of now, which the erasure's folder has from then on.

    A visitor who had no user may have logged in since the erasure was asked for. Nothing of it would be
    erased, so the erasure is abandoned, unless its first step has listed records already. That of an expired
    visitor goes on: who logs in stays.

    Args:
        run: the job's context.
        request: number of the request.

    Raises:
        MillraceError: if the erasure is abandoned. It names nobody, since jobs log it.
    """
    register, folder = Register(run.settings.home), WorkFolder(run.settings.home, request)
    person, left_out = with_new_visitors(run.spark, run.lake, folder.person())
    may_go_on = not left_out or register.find(request).reference == EXPIRED or _has_records(run, request)
    if not may_go_on:
        register.abandon_erasure(request, "a visitor has logged in: nothing erased", now())
        folder.remove()
        raise MillraceError(
            f"a visitor of request {request} has logged in, as a user who is not of it: nothing was erased",
            "Begin again with the same visitors, which stand for their users now, and close this request",
        )
    folder.start(person)
    return person


def _has_records(run: JobContext, request: str) -> bool:
    """Whether records are listed as erased for a request."""
    return not run.lake.read(ERASED_RECORDS.name).where(F.col("request") == request).isEmpty()
