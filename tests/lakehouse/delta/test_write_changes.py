"""Changes of rows with nested columns, without a JVM."""

import pyarrow as pa

from lakehouse.contracts.arrow import arrow_schema
from lakehouse.contracts.daily import SEARCH_PERFORMANCE
from lakehouse.delta.write_changes import change_type, struct_makers
from lakehouse.rows.grouped import KEY, GroupedRows, batch_of_kind


def test_list_of_structs_is_the_same_after_a_fold() -> None:
    kind, columns = SEARCH_PERFORMANCE.short_name, arrow_schema(SEARCH_PERFORMANCE)
    (nested,) = (field.name for field in columns if pa.types.is_list(field.type))
    values = [{"product_id": "p", "clicks": 2}, {"product_id": "q", "clicks": 1}]
    cells = [pa.array([values if field.name == nested else None], field.type) for field in columns]
    table = pa.table([pa.array(["k"]), *cells], names=[KEY, *columns.names])
    (row,) = GroupedRows(["k"], {kind: table}).rows(kind, tuple, **struct_makers(SEARCH_PERFORMANCE))["k"]
    schema = pa.schema([pa.field(kind, change_type(SEARCH_PERFORMANCE))])
    assert batch_of_kind(schema, kind, [(*row, False, None)]).column(0)[0][nested].as_py() == values
