"""Rows that two tables have in common, found in Arrow: no Python object is made of them."""

import pyarrow as pa
import pyarrow.compute as pc

_PLACE, _IS_VALID = "_place", "_is_valid"


def without_equal(old: pa.Table, new: pa.Table) -> tuple[pa.Table, pa.Table]:
    """Two tables without the rows that are in both.

    Args:
        old: rows, each once; columns of values, and of structs of values.
        new: rows with the same columns, each once.
    """
    both = pa.concat_tables([old, new])
    places = pa.array(range(both.num_rows), pa.int64())
    columns = _comparable(both).append_column(_PLACE, places)
    names = [name for name in columns.column_names if name != _PLACE]
    found = columns.group_by(names, use_threads=False).aggregate([(_PLACE, "min"), (_PLACE, "count")])
    alone = found.filter(pc.equal(found[f"{_PLACE}_count"], 1))[f"{_PLACE}_min"]
    is_alone = pc.is_in(places, value_set=alone.combine_chunks())
    return old.filter(is_alone.slice(0, old.num_rows)), new.filter(is_alone.slice(old.num_rows))


def _comparable(rows: pa.Table) -> pa.Table:
    """Columns of values: a struct is its fields, and whether it is null."""
    structs = [field.name for field in rows.schema if pa.types.is_struct(field.type)]
    validity = {f"{name}{_IS_VALID}": pc.is_valid(rows[name]) for name in structs}
    flat = rows.flatten()
    for name, is_valid in validity.items():
        flat = flat.append_column(name, is_valid)
    return flat
