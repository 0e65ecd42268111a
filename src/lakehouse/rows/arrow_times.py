"""Times of Arrow tables as microseconds since 1970."""

import pyarrow as pa


def in_micros(table: pa.Table) -> pa.Table:
    """The table with all timestamps, including nested ones, as microseconds since 1970."""
    return table.cast(pa.schema([pa.field(each.name, _in_micros(each.type)) for each in table.schema]))


def _in_micros(type_: pa.DataType) -> pa.DataType:
    if pa.types.is_struct(type_):
        return pa.struct([pa.field(each.name, _in_micros(each.type)) for each in type_])
    if pa.types.is_list(type_):
        return pa.list_(_in_micros(type_.value_type))
    return pa.int64() if pa.types.is_timestamp(type_) else type_
