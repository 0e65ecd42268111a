"""The functions of jobs that a person starts: like the commands, with output to the task's log."""

from rich.console import Console

from lakehouse.errors import MillraceError
from lakehouse.run.job import JobContext
from millrace.tables.table_scan import reading_through

_WIDTH = 160
"""Width of a task's log in columns, since it has no terminal."""


def release(run: JobContext) -> None:
    """Publish held rows to gold."""
    from millrace.operations.release import release_job

    release_job(run.parameters["by"], run.parameters["reason"]).body(run)


def replay(run: JobContext) -> None:
    """Recompute silver, evaluate held rows again, and rebuild gold if needed."""
    from millrace.operations.replay import replay_job

    replay_job(run.parameters["by"], run.parameters["reason"]).body(run)


def rebuild(run: JobContext) -> None:
    """Recompute tables, and replace each in one commit."""
    from millrace.operations.rebuild import rebuild_unless_held

    names = [name.strip() for name in run.parameters["tables"].split(",")]
    rebuild_unless_held(names).body(run)


def recover(run: JobContext) -> None:
    """Record that the loss in a topic is accepted, so that ingest continues with its next run."""
    from bronze.recover import recover_job

    option = f"--{run.parameters['option'].lstrip('-')}"
    recover_job(run.parameters["topic"], option, run.parameters["by"]).body(run)


def erase(run: JobContext) -> None:
    """Erase a person, then search and write a certificate.

    Raises:
        MillraceError: if nobody is named, or a search finds something or can't search everything.
    """
    from millrace.operations.erase import erase_job
    from millrace.operations.erasure_request import prepare_erasure
    from millrace.operations.privacy_proof import prove_erasure

    request, user, visitor = (run.parameters.get(name) or None for name in ("request", "user", "visitor"))
    users, visitors = ([each] if each else [] for each in (user, visitor))
    if not (request or users or visitors):
        raise MillraceError("there is nobody to erase", "Give the parameter request, user or visitor")
    reference = run.parameters.get("reference") or "erasure"
    number, person = prepare_erasure(run.settings, request, users, visitors, reference)
    run.log(f"request {number}: {len(person.identities):,} identities")
    erase_job(number).body(run)
    result, file, line = prove_erasure(run.settings, number, person, ())
    run.log(f"request {number}: {line}: {file}")
    if not result.is_clean:
        raise MillraceError(f"request {number}: {line}", f"The certificate lists where: {file}")


def retention(run: JobContext) -> None:
    """Apply conf/retention.yml."""
    from millrace.operations.retention_job import apply_retention

    apply_retention(run)


def show_gate(run: JobContext) -> None:
    """Print the state of the gate."""
    from millrace.tables.gate_status import explain, gate, is_held, last_results
    from millrace.terminal.gate_report import print_failures, print_gate, print_results

    settings, console = run.settings, _console()
    with reading_through(run.spark):
        print_gate(console, gate(settings), is_held(settings))
        print_results(console, last_results(settings), every=False)
        print_failures(console, explain(settings))


def audit(run: JobContext) -> None:
    """Print each comparison.

    Raises:
        MillraceError: if there is a difference.
    """
    from millrace.audit.comparisons import run_audit

    console, wrong = _console(), 0
    with reading_through(run.spark):
        for finding in run_audit(run.settings):
            wrong += not finding.is_right
            console.print(f"{'ok' if finding.is_right else 'WRONG':6}{finding.what}: {finding.detail}")
    if wrong:
        raise MillraceError(f"the audit found {wrong} differences", "Look at the lines marked WRONG")
    console.print("Audit ok: nothing is missing and nothing is doubled.")


def explain(run: JobContext) -> None:
    """Print what led to a conversion."""
    from millrace.explain.conversion import explain_conversion
    from millrace.explain.render import render

    with reading_through(run.spark):
        story = explain_conversion(run.settings, run.parameters["conversion"])
    _console().print(render(story, run.settings.reporting_currency))


def _console() -> Console:
    return Console(width=_WIDTH, highlight=False, markup=False)
