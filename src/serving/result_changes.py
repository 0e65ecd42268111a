"""What changed from one result of a query to the next."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from serving.json_lines import json_text

Row = Mapping[str, Any]


class ResultChange(NamedTuple):
    """A row of a result that came, went or was replaced: `insert`, `delete` or `update`."""

    change: str
    before: Row | None
    after: Row | None


def result_changes(
    before: Sequence[Row], after: Sequence[Row], key: Sequence[int] | None
) -> list[ResultChange]:
    """Changes from one result to another. Equal results give none.

    Args:
        before: rows of the last result, the same columns in the same order.
        after: rows of the new one.
        key: places of the columns that identify a row; None if none do. Then, and where rows share a key,
            rows are compared as a whole, with the number of times that each is there.
    """
    if key is not None:
        old, new = ({_text(row, key): row for row in rows} for rows in (before, after))
        if len(old) == len(before) and len(new) == len(after):
            return _by_key(old, new)
    old_texts, new_texts = [json_text(row) for row in before], [json_text(row) for row in after]
    gone, came = Counter(old_texts) - Counter(new_texts), Counter(new_texts) - Counter(old_texts)
    rows = dict(zip([*old_texts, *new_texts], [*before, *after], strict=True))
    return [
        *(ResultChange("delete", rows[text], None) for text in gone.elements()),
        *(ResultChange("insert", None, rows[text]) for text in came.elements()),
    ]


def _by_key(old: Mapping[str, Row], new: Mapping[str, Row]) -> list[ResultChange]:
    changes = [ResultChange("delete", row, None) for key, row in old.items() if key not in new]
    for key, row in new.items():
        if key not in old:
            changes.append(ResultChange("insert", None, row))
        elif json_text(old[key]) != json_text(row):
            changes.append(ResultChange("update", old[key], row))
    return changes


def _text(row: Row, key: Sequence[int]) -> str:
    values = list(row.values())
    return json.dumps([json_text({"": values[place]}) for place in key])
