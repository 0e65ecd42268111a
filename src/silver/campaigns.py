"""Campaign fields and channel of an event, from what it carries."""

from functools import reduce

from pyspark.sql import Column
from pyspark.sql import functions as F

from silver.rules.channels import BLANKS, IN_QUERY, ChannelRules, Rule
from silver.wire import text_or_null

_HOST = r"(?i)^[a-z][a-z0-9+.-]*://(?:[^/?#@]*@)?([^/?#:@]+)"


def campaign_field(sent: Column, url: Column, parameter: str) -> Column:
    """The field as sent, else the URL's `utm_…` parameter, decoded; null if neither has one."""
    raw = F.regexp_extract(url, f"{IN_QUERY}{parameter}=([^&#]*)", 1)
    return F.coalesce(text_or_null(sent), text_or_null(F.coalesce(F.try_url_decode(raw), raw)))


def channel(
    rules: ChannelRules, source: Column, medium: Column, name: Column, url: Column, referrer: Column
) -> Column:
    """The channel by the first rule that holds; see `silver.rules.channels`."""
    trimmed = [F.trim(F.coalesce(field, F.lit("")), F.lit(BLANKS)) for field in (source, medium, name)]
    visit = {
        "source": F.lower(trimmed[0]),
        "medium": F.lower(trimmed[1]),
        "has_campaign": F.concat(*trimmed) != "",
        "url": F.coalesce(url, F.lit("")),
        "foreign_host": _foreign_host(url, referrer),
    }
    found = F.lit(rules.otherwise)
    for rule in reversed(rules.rules):
        found = F.when(_holds(rule, visit), F.lit(rule.channel)).otherwise(found)
    return found


def _holds(rule: Rule, visit: dict[str, Column]) -> Column:
    conditions = [
        visit["url"].rlike(rule.click_id) if rule.click_id else None,
        visit["source"].rlike(f"^(?:{rule.source})\\z") if rule.source else None,
        visit["medium"].rlike(f"^(?:{rule.medium})\\z") if rule.medium else None,
        visit["has_campaign"] if rule.campaign else None,
        visit["foreign_host"].isNotNull() if rule.referrer else None,
        visit["foreign_host"].rlike(f"^(?:{rule.referrer_host})\\z") if rule.referrer_host else None,
    ]
    return reduce(Column.__and__, [condition for condition in conditions if condition is not None])


def _foreign_host(url: Column, referrer: Column) -> Column:
    own, other = _host(url), _host(referrer)
    return F.when(own.isNull() | (own != other), other)


def _host(address: Column) -> Column:
    host = F.regexp_extract(F.coalesce(address, F.lit("")), _HOST, 1)
    return text_or_null(F.regexp_replace(F.lower(host), r"^www\.", ""))
