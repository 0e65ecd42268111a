"""The words of a credit's arithmetic are those of the command line, which works credits out itself."""

from datetime import timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from metrics import arithmetic
from query_scope import MODELS

from folds.persons import models
from folds.rule_numbers import RuleNumbers
from millrace.explain import credit as reported

TOUCHES = st.lists(
    st.tuples(st.sampled_from(["Direct", "Email", "Display"]), st.integers(0, 30 * 86_400)), max_size=7
)


def test_the_pages_know_the_models_of_gold() -> None:
    assert tuple(models.MODELS) == MODELS
    assert (
        RuleNumbers().half_life,
        RuleNumbers().position_ends,
        models.DIRECT,
    ) == (arithmetic.HALF_LIFE, arithmetic.ENDS, arithmetic.DIRECT)


@pytest.mark.parametrize("model", MODELS)
@given(touches=TOUCHES)
def test_the_words_are_the_command_lines(model: str, touches: list[tuple[str, int]]) -> None:
    ages = [(channel, timedelta(seconds=age)) for channel, age in sorted(touches, key=lambda each: -each[1])]
    theirs = reported.work_out(model, ages, RuleNumbers())
    assert arithmetic.work_out(model, ages) == theirs


@given(
    value=st.decimals(-(10**6), 10**6, places=4) | st.none(),
    rows=st.lists(st.tuples(st.floats(0, 1), st.decimals(-(10**6), 10**6, places=4) | st.none()), max_size=5),
)
def test_parts_are_told_as_the_command_line_does(
    value: Decimal | None, rows: list[tuple[float, Decimal | None]]
) -> None:
    credits_, given_ = [row[0] for row in rows], [row[1] for row in rows]
    assert arithmetic.share_out(value, credits_, given_) == reported.explain_value_split(
        value, credits_, given_
    )
