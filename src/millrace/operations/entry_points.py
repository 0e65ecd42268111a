"""Entry points of the wheel for jobs that a person starts on a workspace, with parameters."""

from lakehouse.entry_point import Job
from lakehouse.run.job_args import Parameter

_BODIES = "millrace.operations.bodies"
_BY = Parameter("by", "who says so; kept in ops.gates", is_required=True)
_REASON = Parameter("reason", "why; kept in ops.gates", is_required=True)

gate = Job.imported(
    "gate",
    f"{_BODIES}:show_gate",
    "Print whether gold is held and why, and rows that are not as expected.",
)

release = Job.imported(
    "release",
    f"{_BODIES}:release",
    "Publish held rows, although they are not as expected.",
    _BY,
    _REASON,
)

replay = Job.imported(
    "replay",
    f"{_BODIES}:replay",
    "Rebuild silver by the current rules, evaluate held rows again, and update gold.",
    _BY,
    _REASON,
)

rebuild = Job.imported(
    "rebuild",
    f"{_BODIES}:rebuild",
    "Recompute tables from their inputs by the current rules.",
    Parameter("tables", "tables, as silver.events, separated by commas", is_required=True),
)

recover = Job.imported(
    "recover",
    f"{_BODIES}:recover",
    "Resume a topic that lost records in Kafka or was created again.",
    Parameter("topic", "Kafka topic, as events", is_required=True),
    Parameter("option", "accept-loss or from-beginning", is_required=True),
    Parameter("by", "who accepts it; kept in ops.topics", is_required=True),
)

erase = Job.imported(
    "erase",
    f"{_BODIES}:erase",
    "Erase everything of a person, search for what is left, and sign a certificate.",
    Parameter("request", "number of a request, or of an erasure that was interrupted; else a new one"),
    Parameter("user", "user id"),
    Parameter("visitor", "visitor"),
    Parameter("reference", "what a new request is known as elsewhere"),
)

retention = Job.imported(
    "retention",
    f"{_BODIES}:retention",
    "Erase persons, and remove the content of records, that conf/retention.yml keeps no longer.",
)

audit = Job.imported(
    "audit",
    f"{_BODIES}:audit",
    "Check that nothing is lost or doubled; fail on a difference.",
)

explain = Job.imported(
    "explain",
    f"{_BODIES}:explain",
    "Print what led to a conversion, who earned it by each model, and the arithmetic.",
    Parameter("conversion", "conversion_id or its beginning, order, or UID of the event", is_required=True),
)
