"""Numeric parameters of the rules: reads and validates conf/rules.yml."""

from datetime import timedelta
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from lakehouse.bundle_file import read_yaml
from lakehouse.errors import MillraceError, first_problem

FILE = "rules.yml"
MAX_HALF_LIVES = 1000

_LEAST_GAP = timedelta(minutes=2)
_Span = Annotated[timedelta, Field(gt=timedelta(0))]


class RuleNumbers(BaseModel):
    """Durations, counts, shares and options of the rules. The defaults are the contract's values.

    Args:
        session_gap: an event this long or longer after the previous one starts a new session.
        continuation_span: a session that comes back from an excluded page, or from the site itself, continues
            the one before it if that ended this long or less before.
        impression_span: a click this long or longer after an impression does not belong to it.
        click_pause: a click counts if it comes this long or longer after the last counted one.
        search_span: a result click or a list of results this long or longer after a search does not belong to
            it.
        bot_events: more events than this within `bot_span` make a visitor a bot.
        bot_span: window of `bot_events`; start included, end excluded.
        look_back: maximum time between a touch and the conversion that it gets credit for.
        half_life: half-life of a touch's weight in `time_decay`.
        position_ends: share of the first touch, and of the last, in `position_based` with three or more
            touches.
        on_site_promotions: `credit` makes a click on a promotion of the site itself a touch.
        view_span: an impression this long or longer before a visit does not lead to it by view-through.
        view_through: whether an impression that led to a visit by view-through is a touch.
        campaign_in_session: `touch` makes an event a touch that comes by another campaign in mid-session.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    session_gap: _Span = timedelta(minutes=30)
    continuation_span: _Span = timedelta(hours=24)
    impression_span: _Span = timedelta(minutes=30)
    click_pause: _Span = timedelta(seconds=10)
    search_span: _Span = timedelta(minutes=10)
    bot_events: int = Field(default=100, ge=1)
    bot_span: _Span = timedelta(seconds=60)
    look_back: _Span = timedelta(days=30)
    half_life: _Span = timedelta(days=7)
    position_ends: float = Field(default=0.4, ge=0, le=0.5)
    on_site_promotions: Literal["none", "credit"] = "none"
    view_span: _Span = timedelta(hours=24)
    view_through: bool = False
    campaign_in_session: Literal["touch", "ignore"] = "touch"

    @model_validator(mode="after")
    def _fits_into_a_session(self) -> "RuleNumbers":
        """Check that an exposure and its clicks fit into one session: folds read history by session."""
        for name in ("impression_span", "click_pause", "search_span"):
            if getattr(self, name) > self.session_gap:
                raise ValueError(f"{name} is longer than session_gap")
        if self.session_gap < _LEAST_GAP:
            raise ValueError("session_gap is shorter than two minutes: two sessions would share one")
        return self

    @model_validator(mode="after")
    def _weighs_every_touch(self) -> "RuleNumbers":
        """Check that the look-back's oldest touch has a weight above 0: 2^-1074 is the smallest double."""
        if self.look_back > MAX_HALF_LIVES * self.half_life:
            raise ValueError(f"look_back is longer than {MAX_HALF_LIVES:,} times half_life")
        return self


def load_rule_numbers(conf: Path) -> RuleNumbers:
    """Read conf/rules.yml; if it is missing, all numbers have their defaults.

    Raises:
        MillraceError: for an unknown name, or a value that is out of bounds or violates another rule.
    """
    file = conf / FILE
    given = read_yaml(file) if file.is_file() else {}
    try:
        return RuleNumbers.model_validate(given)
    except ValidationError as error:
        problem = f"{FILE}: {first_problem(error)}"
        raise MillraceError(problem, f"Correct {file}, or leave the line out") from error
