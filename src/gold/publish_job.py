"""The publish job: silver to gold."""

from gold.gate.gate import Gate
from gold.publish import Publish, PublishRules
from lakehouse.contracts.gold import LOCK
from lakehouse.run.job import JobContext
from lakehouse.run.microbatch import run_microbatches


def publish(run: JobContext) -> None:
    """Run micro-batches that update conversions, attribution, traffic and daily tables from silver."""
    conf = run.settings.conf
    process = Publish(run, lambda: PublishRules.load(conf))
    gate = Gate(run)
    try:
        run_microbatches(
            run,
            "refine",
            process,
            lock=LOCK,
            processed_through=gate.processed_through,
            side_input="repair",
            idle=gate.idle_if_open(process.run_idle),
            gate=gate.admit,
        )
    finally:
        process.end()
    gate.end()
