"""Ops: what the pipeline says of itself."""

from lakehouse.contracts.table import Column, Table

LEDGER = Table(
    name="ops.ledger",
    grain="micro-batch",
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
        Column("heard", "timestamp", "the same of the job that this one hears of besides"),
    ),
)

TABLES = (LEDGER,)
