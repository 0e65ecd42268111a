"""The publish job: silver to gold."""

from gold.gate.gate import Gate
from gold.publish import Publish, PublishRules
from lakehouse.contracts.gold import LOCK
from lakehouse.run.job import Run
from lakehouse.run.microbatch import follow


def publish(run: Run) -> None:
    """Keep conversions, their credit and what all visitors do in step with silver."""
    conf = run.settings.conf
    process = Publish(run, lambda: PublishRules.load(conf))
    gate = Gate(run)
    follow(
        run,
        "refine",
        process,
        holding=LOCK,
        reached=gate.begun,
        hearing="repair",
        idle=gate.resting(process.rest),
        admits=gate.admits,
    )
    gate.end()
