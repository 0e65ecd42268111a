"""Records to events: every field of silver.events that a record can give by itself."""

from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from silver.campaigns import campaign_field, channel, visit_columns
from silver.clock import arrival_time, event_time, parse_instant, read_instant, within_years
from silver.money import MONEY, parse_money
from silver.rules.channels import ChannelRules, load_channel_rules
from silver.rules.roles import OTHER, RoleRules, TrackRule, load_role_rules
from silver.wire import decode_carefully, decode_quickly, text_or_null


@dataclass(frozen=True)
class Rules:
    """The rules of conf/ that parsing follows."""

    roles: RoleRules
    channels: ChannelRules


def load_rules(conf: Path) -> Rules:
    """Read them as they are in conf/ now."""
    return Rules(load_role_rules(conf), load_channel_rules(conf))


def parse_records(records: DataFrame, rules: Rules, carefully: bool) -> DataFrame:
    """Read each record's value, correct its clock and name its role.

    Args:
        records: bronze.kafka_records.
        rules: roles and channels.
        carefully: whether to read values in the way that is right for all of them; see `silver.wire`.

    Returns:
        One row a record: its coordinates, `timestamp`, `ingested_at` and `raw`, the value's bytes; the
        fields of silver.events except `is_late`, null where the record has none; `is_object`, whether the
        value is one JSON object; `heartbeat_at`, the time of a heartbeat, null for any other record;
        `unsure`, whether all this may be wrong, the value having been read quickly.
    """
    renamed = records.withColumnRenamed("value", "raw").withColumn("heartbeat_at", _heartbeat())
    decode = decode_carefully if carefully else decode_quickly
    decoded = decode(renamed.drop("key", "headers"), rules.roles)
    return _name_roles(_correct_clock(_lay_out(decoded)), rules)


def _heartbeat() -> Column:
    header = F.filter("headers", lambda item: item["key"] == "heartbeat")
    time = parse_instant(F.try_element_at(header, F.lit(1))["value"].cast("string"))
    return F.when(F.col("raw").isNull(), F.timestamp_micros(time))


def _lay_out(records: DataFrame) -> DataFrame:
    track = F.col("message.type") == "track"
    fields = {
        "is_object": F.col("message").isNotNull(),
        "event_id": F.col("message.messageId"),
        "type": F.col("message.type"),
        "name": F.when(track, F.col("message.event")),
        "visitor_id": F.coalesce(
            text_or_null(F.col("message.anonymousId")), text_or_null(F.col("message.userId"))
        ),
        "user_id": text_or_null(F.col("message.userId")),
        "url": F.coalesce(text_or_null(F.col("page.url")), text_or_null(F.col("known.url"))),
        "referrer": F.coalesce(text_or_null(F.col("page.referrer")), text_or_null(F.col("known.referrer"))),
        "user_agent": text_or_null(F.col("agent")),
        "event_hash": F.xxhash64("message.messageId"),
    }
    return records.withColumns(fields)


def _correct_clock(events: DataFrame) -> DataFrame:
    fields = {
        "_received": "receivedAt",
        "_sent": "sentAt",
        "_original": "originalTimestamp",
        "_timestamp": "timestamp",
    }
    read = {name: read_instant(F.col(f"message.{field}")) for name, field in fields.items()}
    instants = {name: within_years(F.col(name)) for name in fields}
    arrival = arrival_time(F.col("_received"), F.unix_micros("timestamp"))
    happened = event_time(F.col("_arrival"), F.col("_sent"), F.col("_original"), F.col("_timestamp"))
    return (
        events.withColumns(read)
        .withColumns(instants)
        .withColumn("_arrival", arrival)
        .withColumns(
            {
                "arrival_time": F.timestamp_micros("_arrival"),
                "event_time": F.timestamp_micros(happened),
                "device_time": F.timestamp_micros("_original"),
            }
        )
        .drop(*instants, "_arrival")
    )


def _name_roles(events: DataFrame, rules: Rules) -> DataFrame:
    campaign = {
        f"campaign_{field}": campaign_field(F.col(f"campaign.{field}"), F.col("url"), f"utm_{parameter}")
        for field, parameter in (("source", "source"), ("medium", "medium"), ("name", "campaign"))
    }
    named = events.withColumn("role", _role(rules.roles)).withColumns(campaign)
    visit = visit_columns(*map(F.col, (*campaign, "url", "referrer")))
    taken = {
        "goal": F.when(F.col("role") == "goal", F.col("name")),
        "value": _value(rules.roles),
        "channel": channel(rules.channels),
        **{
            column: _taken(rules.roles, column)
            for column in ("promotion_id", "query", "product_id", "order_id", "currency")
        },
    }
    return (
        named.withColumns(visit)
        .withColumns(taken)
        .drop("message", "page", "campaign", "known", "agent", *visit)
    )


def _role(rules: RoleRules) -> Column:
    role = F.lit(OTHER)
    for type_, named in rules.types.items():
        role = F.when(F.col("type") == type_, F.lit(named)).otherwise(role)
    for name, rule in rules.tracks.items():
        role = F.when(_applies(name, rule), F.lit(rule.role)).otherwise(role)
    return role


def _applies(name: str, rule: TrackRule) -> Column:
    applies = F.col("name") == name
    for required in rule.requires:
        applies = applies & text_or_null(F.col(f"known.{required}")).isNotNull()
    return applies


def _taken(rules: RoleRules, column: str) -> Column:
    taken = F.lit(None).cast("string")
    for name, rule in rules.tracks.items():
        if column in rule.takes:
            value = text_or_null(F.col(f"known.{rule.takes[column]}"))
            taken = F.when(_applies(name, rule), value).otherwise(taken)
    return taken


def _value(rules: RoleRules) -> Column:
    """Money, half up to four decimals; what is no number is null, and the next property is tried."""
    value = F.lit(None).cast(MONEY)
    for name, rule in rules.tracks.items():
        if rule.money:
            first = F.coalesce(*(parse_money(F.col(f"known.{money}")) for money in rule.money))
            value = F.when(_applies(name, rule), -first if rule.negate else first).otherwise(value)
    return value
