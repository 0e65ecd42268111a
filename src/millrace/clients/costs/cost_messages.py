"""Records of campaign costs: the wire format of the topic."""

import json
from collections import Counter
from collections.abc import Iterator
from datetime import date, datetime, timezone

from millrace.clients.costs.cost_file import CostFile
from millrace.clients.record import Record


def cost_records(file: CostFile, loaded_at: datetime) -> Iterator[Record]:
    """A record for each row, with its number among the load's rows of its day.

    Records of an account's day have one key, so that they are in one partition.

    Args:
        file: what was read.
        loaded_at: of two loads of a day, the later one counts.
    """
    rows_of_day, numbers = file.days, Counter[tuple[str, date]]()
    stamp = loaded_at.astimezone(timezone.utc).isoformat(timespec="microseconds").replace("+00:00", "Z")
    for row in file.rows:
        of = row.account, row.day
        numbers[of] += 1
        value = {
            "platform": file.platform,
            "account": row.account,
            "day": row.day.isoformat(),
            "campaign_source": row.campaign_source,
            "campaign_medium": row.campaign_medium,
            "campaign_name": row.campaign_name,
            "ad_group": row.ad_group,
            "cost": str(row.cost),
            "currency": row.currency,
            "clicks": row.clicks,
            "impressions": row.impressions,
            "loaded_at": stamp,
            "load_id": file.load_id,
            "load_row": numbers[of],
            "load_rows": rows_of_day[of],
        }
        sent = {name: each for name, each in value.items() if each is not None}
        key = f"{file.platform}/{row.account}/{row.day.isoformat()}"
        yield Record(
            key.encode(), json.dumps(sent, ensure_ascii=False, separators=(",", ":")).encode(), row.line
        )
