"""Campaign fields and channel of an event, from what it carries."""

from functools import reduce

from pyspark.sql import Column
from pyspark.sql import functions as F

from silver.rules.campaigns import value_pattern
from silver.rules.channels import BLANKS, ChannelRules, Rule, Visit
from silver.wire import text_or_null

_HOST = r"(?i)^[a-z][a-z0-9+.-]*://(?:[^/?#@]*@)?([^/?#:@]+)"


def campaign_field(sent: Column, url: Column, parameter: str) -> Column:
    """The field as sent, else the URL's `utm_…` parameter, decoded; null if neither has more than blanks."""
    raw = F.when(url.contains("utm_"), F.regexp_extract(url, value_pattern(parameter), 1))
    return F.coalesce(_more_than_blanks(sent), _more_than_blanks(F.coalesce(F.try_url_decode(raw), raw)))


def _more_than_blanks(field: Column) -> Column:
    return F.when(F.trim(field, F.lit(BLANKS)) != "", field)


def visit_columns(
    source: Column, medium: Column, name: Column, url: Column, referrer: Column
) -> dict[str, Column]:
    """What `channel` reads, in columns of their own: worked out once, not once a rule."""
    trimmed = [F.trim(F.coalesce(field, F.lit("")), F.lit(BLANKS)) for field in (source, medium, name)]
    return {
        "_source": F.lower(trimmed[0]),
        "_medium": F.lower(trimmed[1]),
        "_has_campaign": F.concat(*trimmed) != "",
        "_address": F.coalesce(url, F.lit("")),
        "_foreign_host": _foreign_host(url, referrer),
    }


def channel(rules: ChannelRules) -> Column:
    """The channel by the first rule that holds; see `silver.rules.channels`.

    Rules are tried where a visit has anything to go by: most page views have no campaign, no query and no
    referrer from elsewhere.
    """
    found = F.lit(rules.otherwise)
    for rule in reversed(rules.rules):
        found = F.when(_holds(rule), F.lit(rule.channel)).otherwise(found)
    plain = ~F.col("_has_campaign") & F.col("_foreign_host").isNull() & ~F.col("_address").contains("=")
    return F.when(plain, F.lit(rules.classify(Visit())[0])).otherwise(found)


def _holds(rule: Rule) -> Column:
    source, medium, host = F.col("_source"), F.col("_medium"), F.col("_foreign_host")
    conditions = [
        F.col("_address").rlike(rule.click_id) if rule.click_id else None,
        source.rlike(f"^(?:{rule.source})\\z") if rule.source else None,
        medium.rlike(f"^(?:{rule.medium})\\z") if rule.medium else None,
        F.col("_has_campaign") if rule.campaign else None,
        host.isNotNull() if rule.referrer else None,
        host.rlike(f"^(?:{rule.referrer_host})\\z") if rule.referrer_host else None,
    ]
    return reduce(Column.__and__, [condition for condition in conditions if condition is not None])


def _foreign_host(url: Column, referrer: Column) -> Column:
    own, other = _host(url), _host(referrer)
    # Most referrers are the shop's own pages, and begin as the page does: no need to look closer.
    same = F.substring_index(url, "/", 3) == F.substring_index(referrer, "/", 3)
    return F.when(referrer.isNotNull() & ~F.coalesce(same, F.lit(False)), F.nullif(other, own))


def _host(address: Column) -> Column:
    host = F.regexp_extract(F.coalesce(address, F.lit("")), _HOST, 1)
    return text_or_null(F.regexp_replace(F.lower(host), r"^www\.", ""))
