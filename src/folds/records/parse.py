"""Parses any Kafka record to its outcome."""

from collections.abc import Mapping
from decimal import Decimal

from msgspec import Raw

from folds.records.addresses import NO_CAMPAIGN, CampaignFields, is_named, read_address
from folds.records.campaign_cost import parse_cost
from folds.records.event_time import parse_time
from folds.records.exchange_rate import parse_rate
from folds.records.json_text import NOTHING, object_text, text, text_or_none
from folds.records.message import (
    Campaign,
    Context,
    Library,
    Message,
    Page,
    decode_campaign,
    decode_context,
    decode_library,
    decode_members,
    decode_message,
    decode_page,
    decode_part,
)
from folds.records.message_times import Times, read_times
from folds.records.money import Currencies, parse_money
from folds.records.outcomes import Event, Heartbeat, Outcome, Record, Rejection
from folds.records.parse_rules import ParseRules
from folds.records.placeholders import identity
from folds.records.product_lists import product_ids
from folds.records.promise import parse_promise
from folds.records.roles import OTHER, FileRule, RoleRules, TrackRule

TYPES = frozenset({"page", "screen", "track", "identify", "group", "alias"})
MAX_ID = 256  # code points

_CONTEXT, _PAGE, _CAMPAIGN, _LIBRARY = Context(), Page(), Campaign(), Library()
_NO_MEMBERS: dict[str, Raw] = {}
_PLAIN = TrackRule(OTHER)
_NONE_TAKEN: dict[str, str | None] = {}
_NO_MONEY = None, None
_MAX_SHOWN = 64  # characters


def parse(record: Record, rules: ParseRules) -> Outcome:
    """Parse a record: decode it, correct its clock and find its role, or reject it with a reason.

    Args:
        record: of any topic.
        rules: of conf/.
    """
    if record.is_rate:
        return parse_rate(record)
    if record.is_cost:
        return parse_cost(record)
    if not record.value:
        return parse_promise(record) or _parse_heartbeat(record) or Rejection("empty", record.timestamp)
    message = decode_message(record.value)
    if message is None:
        return Rejection("not_json", record.timestamp)
    return _parse_message(message, record.timestamp, rules)


def _parse_heartbeat(record: Record) -> Heartbeat | None:
    sent = next((value for key, value in record.headers if key == "heartbeat"), None)
    if record.value is not None or sent is None:
        return None
    at = parse_time(sent.decode(errors="replace"))
    return None if at is None else Heartbeat(at)


def _parse_message(message: Message, stamp: int, rules: ParseRules) -> Event | Rejection:
    times = read_times(message, stamp)
    arrival = times[3]
    uid, type_ = text(message.message_id), text(message.type)
    user = identity(message.user_id, rules.placeholders)
    anonymous = identity(message.anonymous_id, rules.placeholders)
    visitor = anonymous or user
    if uid is None:
        return Rejection("no_message_id", arrival)
    if not 0 < len(uid) <= MAX_ID:
        return Rejection("bad_message_id", arrival)
    if type_ is None:
        return Rejection("no_type", arrival)
    if type_ not in TYPES:
        return Rejection("unknown_type", arrival)
    if visitor is None:
        return Rejection("no_identity", arrival)
    name = text(message.event) if type_ == "track" else None
    ids = (uid, type_, name, visitor, user)
    return _fill_in(message, rules, ids, times, is_anonymous=anonymous is not None)


def _fill_in(
    message: Message,
    rules: ParseRules,
    ids: tuple[str, str, str | None, str, str | None],
    times: Times,
    is_anonymous: bool,
) -> Event:
    """Build the event of a valid message; `is_anonymous`: it has an anonymousId."""
    uid, type_, name, visitor, user = ids
    members = decode_part(message.properties, decode_members, _NO_MEMBERS)
    context = decode_part(message.context, decode_context, _CONTEXT)
    page = decode_part(context.page, decode_page, _PAGE)
    url = text_or_none(page.url) or _member(members, "url")
    referrer = text_or_none(page.referrer) or _member(members, "referrer")
    address = read_address(url)
    sent = _sent_campaign(context)
    campaign = _either(sent, address.campaign)
    role, rule = _role(type_, name, members, rules.roles)
    taken = (
        {column: _member(members, key) for column, key in rule.takes.items()} if rule.takes else _NONE_TAKEN
    )
    user_agent = text_or_none(context.user_agent)
    value, unread_value = _value(members, rule, rules.currencies) if rule.money else _NO_MONEY
    return Event(  # by position: a third faster than by name
        uid,
        type_,
        name,
        role,
        visitor,
        user,
        *times,
        url,
        referrer,
        user_agent,
        text_or_none(decode_part(context.library, decode_library, _LIBRARY).name),
        *campaign,
        is_named(sent),
        not is_anonymous and url is None and type_ != "screen",
        rules.is_internal(address, referrer),
        address.click_id,
        address.click_id_kind,
        rules.channel(campaign, address, referrer),
        taken.get("promotion_id"),
        taken.get("query"),
        taken.get("search_id"),
        taken.get("product_id"),
        product_ids(members.get(rule.shows, NOTHING)) if rule.shows else None,
        name if role == "goal" else None,
        taken.get("order_id"),
        taken.get("refund_id"),
        value,
        unread_value,
        taken.get("currency"),
        _whole(message.properties, members),
        rules.dimensions.read(message, user_agent),
        *rules.stated(context.consent),
    )


def _member(members: Mapping[str, Raw], name: str) -> str | None:
    return text(members.get(name, NOTHING)) or None


def _sent_campaign(context: Context) -> CampaignFields:
    """The fields of `context.campaign`, trimmed; None for blank ones."""
    sent = decode_part(context.campaign, decode_campaign, _CAMPAIGN)
    if sent is _CAMPAIGN:
        return NO_CAMPAIGN
    return CampaignFields(
        _trimmed(sent.source),
        _trimmed(sent.medium),
        _trimmed(sent.name),
        _trimmed(sent.term),
        _trimmed(sent.content),
        _trimmed(sent.id),
    )


def _either(sent: CampaignFields, of_address: CampaignFields) -> CampaignFields:
    """Each campaign field as sent, else from the address."""
    if sent is NO_CAMPAIGN:
        return of_address
    return CampaignFields(*(ours or theirs for ours, theirs in zip(sent, of_address, strict=True)))


def _trimmed(raw: Raw) -> str | None:
    field = None if raw is NOTHING else text(raw)
    return (field.strip() or None) if field else None


def _role(
    type_: str, name: str | None, members: Mapping[str, Raw], rules: RoleRules
) -> tuple[str, TrackRule]:
    """The role of an event, and the rule for its columns."""
    rule = rules.tracks.get(name) if name is not None else None
    if rule is None or not _has_required(members, rule):
        if type_ == "page" and _is_file(members, rules.files):
            return OTHER, _PLAIN
        return rules.types.get(type_, OTHER), _PLAIN
    return rule.role, rule


def _is_file(members: Mapping[str, Raw], rule: FileRule) -> bool:
    if not rule.endings or not all(name in members for name in rule.requires):
        return False
    return (_member(members, rule.path) or "").lower().endswith(rule.endings)


def _has_required(members: Mapping[str, Raw], rule: TrackRule) -> bool:
    return all(_member(members, name) for name in rule.requires) and (
        not rule.requires_any or any(_member(members, name) for name in rule.requires_any)
    )


def _value(
    members: Mapping[str, Raw], rule: TrackRule, currencies: Currencies
) -> tuple[Decimal | None, str | None]:
    """The first of the rule's money properties that is a number, and the first before it that is none."""
    unread = None
    for name in rule.money:
        sent = _member(members, name)
        amount = parse_money(sent, currencies)
        if amount is not None:
            return -amount if rule.negate else amount, unread
        if unread is None and sent and sent.strip():
            unread = sent[:_MAX_SHOWN]
    return None, unread


def _whole(properties: Raw, members: Mapping[str, Raw]) -> str | None:
    """All properties as JSON text: `{}` if they are not an object, None if they are missing."""
    if members is not _NO_MEMBERS:
        return object_text(properties, members)
    return None if text(properties) is None else "{}"
