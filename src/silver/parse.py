"""Records to events: every field of silver.events that a record can give by itself."""

from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import Column
from pyspark.sql import functions as F

from lakehouse.rules import rules_version
from silver.campaigns import campaign_field, channel, visit_columns
from silver.clock import arrival_time, event_time, parse_instant, read_instant, within_years
from silver.money import MONEY, parse_money
from silver.rules.campaigns import PARAMETERS
from silver.rules.channels import ChannelRules, load_channel_rules
from silver.rules.roles import OTHER, RoleRules, TrackRule, load_role_rules
from silver.steps import Steps
from silver.wire import decode_carefully, decode_quickly, text_or_null


@dataclass(frozen=True)
class Rules:
    """The rules of conf/ that parsing follows, and the version of all that is in there."""

    roles: RoleRules
    channels: ChannelRules
    version: str


def load_rules(conf: Path) -> Rules:
    """Read them as they are in conf/ now."""
    return Rules(load_role_rules(conf), load_channel_rules(conf), rules_version(conf))


def parse(rules: Rules, carefully: bool) -> Steps:
    """Read each record's value, correct its clock and name its role.

    Args:
        rules: roles and channels.
        carefully: whether to read values in the way that is right for all of them; see `silver.wire`.

    Returns:
        From the columns of bronze.kafka_records, `value` being `raw`, to the fields of silver.events except
        `is_late`, null where the record has none; `is_object`, whether the value is one JSON object;
        `heartbeat_at`, the time of a heartbeat, null for any other record; `unsure`, whether all this may be
        wrong, the value having been read quickly.
    """
    decode = decode_carefully if carefully else decode_quickly
    return [
        {"heartbeat_at": _heartbeat()},
        *decode(rules.roles),
        _lay_out(),
        *_correct_clock(),
        *_name_roles(rules),
    ]


def _heartbeat() -> Column:
    header = F.filter("headers", lambda item: item["key"] == "heartbeat")
    time = parse_instant(F.try_element_at(header, F.lit(1))["value"].cast("string"))
    return F.when(F.col("raw").isNull(), F.timestamp_micros(time))


def _lay_out() -> dict[str, Column]:
    track = F.col("message.type") == "track"
    return {
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


def _correct_clock() -> Steps:
    fields = {
        "_received": "receivedAt",
        "_sent": "sentAt",
        "_original": "originalTimestamp",
        "_timestamp": "timestamp",
    }
    happened = event_time(F.col("_arrival"), F.col("_sent"), F.col("_original"), F.col("_timestamp"))
    return [
        {name: read_instant(F.col(f"message.{field}")) for name, field in fields.items()},
        {name: within_years(F.col(name)) for name in fields},
        {"_arrival": arrival_time(F.col("_received"), F.unix_micros("timestamp"))},
        {
            "arrival_time": F.timestamp_micros("_arrival"),
            "event_time": F.timestamp_micros(happened),
            "device_time": F.timestamp_micros("_original"),
        },
    ]


def _name_roles(rules: Rules) -> Steps:
    campaign = {
        f"campaign_{field}": campaign_field(F.col(f"campaign.{field}"), F.col("url"), parameter)
        for field, parameter in PARAMETERS.items()
    }
    taken = {
        "goal": F.when(F.col("role") == "goal", F.col("name")),
        "value": _value(rules.roles),
        "channel": channel(rules.channels),
        "rules_version": F.lit(rules.version),
        **{
            column: _taken(rules.roles, column)
            for column in ("promotion_id", "query", "product_id", "order_id", "currency")
        },
    }
    return [
        {"role": _role(rules.roles), **campaign},
        visit_columns(*map(F.col, (*campaign, "url", "referrer"))),
        taken,
    ]


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
