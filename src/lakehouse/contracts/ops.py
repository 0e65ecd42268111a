"""Ops: the pipeline's own records."""

from datetime import timedelta

from lakehouse.contracts.table import Column, Table

LEDGER = Table(
    name="ops.ledger",
    grain="micro-batch",
    summary="a micro-batch of a job: rows in and out, duration, high-water mark, Spark jobs, commits",
    key=("job", "batch_id"),
    columns=(
        Column("job", "string", "which job"),
        Column("batch_id", "bigint", "counts up from 0 for each job"),
        Column("input_rows", "bigint", "rows read"),
        Column("output_rows", "bigint", "rows written to the job's main table"),
        Column("duplicates", "bigint", "copies set aside"),
        Column("rejected", "bigint", "records refused"),
        Column("heartbeats", "bigint", "heartbeats read"),
        Column("erased", "bigint", "records of erased persons"),
        Column("late", "bigint", "rows behind the watermark"),
        Column("started_at", "timestamp", "when the micro-batch began"),
        Column("seconds", "double", "how long it took"),
        Column("watermark", "timestamp", "reached by the end of the micro-batch"),
        Column("position", "timestamp", "ingest stamp up to which (included) input is done"),
        Column("heard", "timestamp", "high-water mark of the side input, if the job has one"),
        Column("spark_jobs", "bigint", "Spark jobs; null where the runtime does not say"),
        Column("shuffles", "bigint", "stages of theirs that read shuffled rows; null where it does not say"),
        Column("tasks", "bigint", "tasks of these jobs; null where it does not say"),
        Column("task_seconds", "double", "run time of these tasks on executors, Python workers included"),
        Column("commits", "bigint", "commits to tables, but for that of this row"),
        Column("table_reads", "bigint", "look-ups of tables"),
        Column("producers", "string", "promises of live producers after the micro-batch, as JSON"),
    ),
)

EXPECTATIONS = Table(
    name="ops.expectations",
    grain="expectation × run",
    summary="the result of an expectation in one evaluation: rows in scope, rows that violate it",
    writer="publish",
    key=("run_id", "table", "name"),
    columns=(
        Column("run_id", "string", "id of the evaluation, derived from the ingest stamps of its rows"),
        Column("table", "string", "table that the expectation is on"),
        Column("expectation", "string", "its name in Great Expectations"),
        Column("column", "string", "column that it is about; null for one on the table as a whole"),
        Column("success", "boolean", "as expected, or too few rows to say"),
        Column("severity", "string", "stop (closes the gate before gold) or warn"),
        Column("observed", "double", "share of rows not as expected; of a number, the number"),
        Column("unexpected_count", "bigint", "rows not as expected"),
        Column("run_at", "timestamp", "when it was evaluated"),
        Column("name", "string", "what is so when all is well, as in conf/expectations"),
        Column("rows", "bigint", "rows that it is about"),
        Column("job", "string", "publish (at the gate) or quality (the report)"),
        Column("after", "timestamp", "ingest stamp after which rows were evaluated"),
        Column("upto", "timestamp", "ingest stamp up to which (included)"),
    ),
)

GATES = Table(
    name="ops.gates",
    grain="change of the gate before gold",
    summary="an event of the gate before gold: closed, replayed, opened or released, by whom and why",
    writer="publish",
    key=("sequence",),
    columns=(
        Column("sequence", "bigint", "counts up from 0; the latest says how the gate is"),
        Column("state", "string", "closed, replayed (under way), opened (by a replay) or released"),
        Column("run_id", "string", "the evaluation that closed or opened it"),
        Column("after", "timestamp", "ingest stamp after which rows are held"),
        Column("upto", "timestamp", "ingest stamp up to which (included)"),
        Column("reasons", "array<string>", "expectations of severity stop that failed"),
        Column("who", "string", "who released the rows or replayed them"),
        Column("why", "string", "the reason given"),
        Column("at", "timestamp", "when"),
    ),
)

RULES = Table(
    name="ops.rules",
    grain="file of a rules version",
    summary="a file of conf/ as it was when a version of the rules was first used",
    key=("rules_version", "file"),
    columns=(
        Column("rules_version", "string", "version that the file is part of, as in the rows made by it"),
        Column("file", "string", "name of the file in conf/"),
        Column("text", "string", "what stands in it, comments included, when the version was first used"),
        Column("first_seen_at", "timestamp", "when a job first used the version", provenance=True),
    ),
)

RULE_USES = Table(
    name="ops.rule_uses",
    grain="later use of a rules version",
    summary="a rules version that jobs follow again, or that a table was rebuilt by",
    key=(),
    columns=(
        Column("rules_version", "string", "the version; `ops.rules` has its files, and its first use"),
        Column("table", "string", "table that was rebuilt by it; null: jobs follow it again"),
        Column("after", "timestamp", "last use of rules before the rebuild began; null if none is rebuilt"),
        Column("used_at", "timestamp", "from when on, or end of the rebuild; later than all uses before"),
    ),
)

DIGESTS = Table(
    name="ops.digests",
    grain="file of a table or its log, or manifest",
    summary="a file of a table, its log, or a manifest: size, SHA-256, and the commit that added it",
    key=("table", "path", "recorded_at"),
    columns=(
        Column("table", "string", "table that the file is of; `manifests` for manifests of clients"),
        Column("path", "string", "from the table's folder"),
        Column("size", "bigint", "bytes"),
        Column("sha256", "string", "SHA-256 of the bytes, hexadecimal"),
        Column("version", "bigint", "commit that added the file, or that a file of the log is of"),
        Column("recorded_at", "timestamp", "when the file was read for this row"),
    ),
)

TOPICS = Table(
    name="ops.topics",
    grain="change of a Kafka partition that bronze reads",
    summary="a change of a Kafka partition: where bronze started to read, or which offsets are lost",
    writer="ingest",
    key=("sequence",),
    columns=(
        Column("sequence", "bigint", "counts up from 0"),
        Column("topic", "string", "Kafka topic"),
        Column("topic_id", "string", "id that Kafka gave the topic; empty where the broker gives none"),
        Column("generation", "int", "0, and 1 more each time that a topic of this name was made again"),
        Column("partition", "int", "the partition in Kafka; in bronze 100,000 more for each generation"),
        Column(
            "kind", "string", "started (bronze reads from first_offset on) or lost (accepted by somebody)"
        ),
        Column("first_offset", "bigint", "first offset read, or lost"),
        Column(
            "end_offset", "bigint", "the offset after the last one lost; null: to the end, with the topic"
        ),
        Column("who", "string", "who accepted the loss"),
        Column("at", "timestamp", "when it was written"),
    ),
)

READS = Table(
    name="ops.reads",
    grain="read of a table at a version",
    summary="who read a table at which version, by the API, SQL or a page; with `record_reads` only",
    key=(),
    columns=(
        Column("read_at", "timestamp", "when the read began"),
        Column("reader", "string", "name of the token, email of the account, user of the machine, or local"),
        Column("role", "string", "role of conf/access.yml that it was read as"),
        Column("way", "string", "api, sql or page"),
        Column("table_name", "string", "table that was read"),
        Column("version", "bigint", "version of the table that was read"),
        Column("subject", "string", "query, table with conditions, or name of the page; 1,000 characters"),
        Column("rows", "bigint", "rows of the result; null where it is not counted"),
    ),
    stats_columns=("read_at", "version"),
    expiry=("read_at", timedelta(days=90)),
)

ERASED_RECORDS = Table(
    name="ops.erased_records",
    grain="erased Kafka record",
    summary="a record erased with a person's data: where it was, and a keyed hash of its UID",
    key=("topic", "partition", "offset"),
    columns=(
        Column("topic", "string", "Kafka topic"),
        Column("partition", "int", "partition in bronze"),
        Column("offset", "bigint", "offset in the partition"),
        Column("ingested_at", "timestamp", "stamp of the bronze micro-batch"),
        Column(
            "record_class",
            "string",
            "what it was: event, duplicate or rejected, change or tombstone of the shop's database; arrived:"
            " it was dropped, since its UID or identity had been erased",
        ),
        Column("uid_hash", "binary", "keyed hash of the UID; null of a record that only names the person"),
        Column("request", "string", "request of the register; null if it arrived later"),
        Column("erased_at", "timestamp", "when it was erased; its ingest stamp if it arrived later"),
    ),
)

ERASED_IDENTITIES = Table(
    name="ops.erased_identities",
    grain="erased identity × span",
    summary="a span of an erased identity, known by a keyed hash: events in it are dropped",
    key=("identity_hash", "valid_from", "request"),
    columns=(
        Column("identity_hash", "binary", "keyed hash of a user id, a visitor or a row of the shop"),
        Column("kind", "string", "user, visitor or row"),
        Column("valid_from", "timestamp", "start of the span, included; null: without start"),
        Column("valid_to", "timestamp", "end of the span, excluded"),
        Column("request", "string", "request of the register"),
        Column("erased_at", "timestamp", "when it was erased"),
    ),
)

TABLES = (
    LEDGER,
    EXPECTATIONS,
    GATES,
    RULES,
    RULE_USES,
    DIGESTS,
    TOPICS,
    READS,
    ERASED_RECORDS,
    ERASED_IDENTITIES,
)

WITHOUT_SPARK = frozenset({DIGESTS.name, READS.name})
"""Tables that, in a folder, are written by Python processes without a JVM, and never by Spark.

Delta's log store for local files is safe against other writers in its own JVM only.
"""
