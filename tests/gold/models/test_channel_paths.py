"""Channel credit of the path models: hand-worked cases, and properties that hold for any paths."""

from decimal import Decimal
from itertools import combinations, groupby
from math import factorial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from folds.persons.models import ModelNumbers
from folds.rule_numbers import RuleNumbers
from gold.rules.markov import Chain, removal_shares
from gold.rules.paths import PATH_MODELS, Credit, Path, credit_channels, to_money, total_value
from kit.oracle_paths import walk

# From the start 5 of 8 walks go to a, 3 to b. From a 2 go to b, 3 to c; from b 1 to c, 1 converts, 3 end;
# of c 3 convert, 1 ends. So c converts 3/4, b 7/20, a 59/100, the start 1/2. Lost without a are 59/160,
# without b 35/160, without c 60/160.
HAND_WORKED_PATHS = [
    Path(("a", "b", "c"), 1, 10),
    Path(("a", "c"), 2, 20, 1),
    Path(("b",), 0, 0, 3),
    Path(("a", "a", "b"), 1, 6),
]
NUMBERS = ModelNumbers.of(RuleNumbers())
_COUNTS = st.integers(0, 20)
_CHANNELS = st.lists(st.sampled_from("abcde"), min_size=1, max_size=6).map(tuple)
PATHS = st.lists(st.builds(Path, _CHANNELS, _COUNTS, _COUNTS, _COUNTS), min_size=1, max_size=8)


def is_close(found: dict[str, Credit], wanted: dict[str, Credit]) -> bool:
    flat = {channel: tuple(vars(credit).values()) for channel, credit in found.items()}
    return flat == {
        channel: pytest.approx(tuple(vars(credit).values()), abs=1e-9) for channel, credit in wanted.items()
    }


def test_markov_credit_matches_hand_worked_case() -> None:
    chain = Chain((path.channels, path.conversions, path.nulls) for path in HAND_WORKED_PATHS)
    assert chain.conversion_probability == pytest.approx(1 / 2, abs=1e-12)
    assert chain.losses() == pytest.approx([59 / 160, 35 / 160, 60 / 160], abs=1e-12)
    wanted = {
        name: Credit(4 * part / 154, 36 * part / 154) for name, part in zip("abc", (59, 35, 60), strict=True)
    }
    assert is_close(credit_channels("markov", HAND_WORKED_PATHS, NUMBERS), wanted)


def test_shapley_credit_matches_hand_worked_case() -> None:
    wanted = {
        "a": Credit(1 / 3 + 2 / 2 + 1 / 2, 10 / 3 + 20 / 2 + 6 / 2),
        "b": Credit(1 / 3 + 1 / 2, 10 / 3 + 6 / 2),
        "c": Credit(1 / 3 + 2 / 2, 10 / 3 + 20 / 2),
    }
    assert is_close(credit_channels("shapley", HAND_WORKED_PATHS, NUMBERS), wanted)


def test_single_channel_gets_all_credit() -> None:
    for model in PATH_MODELS:
        assert is_close(credit_channels(model, [Path(("a",), 3, 7, 9)], NUMBERS), {"a": Credit(3, 7)})


def test_channel_without_conversions_gets_no_credit() -> None:
    for model in PATH_MODELS:
        found = credit_channels(model, [Path(("a", "b"), 3), Path(("a", "z"), 0, 0, 5)], NUMBERS)
        assert found["z"] == Credit(0, 0)


@pytest.mark.parametrize("model", PATH_MODELS)
@given(PATHS)
def test_credits_sum_to_conversions_and_are_not_negative(model: str, paths: list[Path]) -> None:
    found = credit_channels(model, paths, NUMBERS)
    assert set(found) == {channel for path in paths for channel in path.channels}
    assert min(min(credit.conversions, credit.value) for credit in found.values()) >= 0
    assert sum(credit.conversions for credit in found.values()) == pytest.approx(
        sum(p.conversions for p in paths)
    )
    if model != "markov":  # Markov does not split a value without a conversion
        assert sum(credit.value for credit in found.values()) == pytest.approx(sum(p.value for p in paths))


@pytest.mark.parametrize("model", PATH_MODELS)
@given(PATHS, st.permutations("abcde"), st.randoms(use_true_random=False))
def test_credit_is_independent_of_channel_names_and_path_order(
    model: str, paths: list[Path], names: list[str], chance
) -> None:
    new = dict(zip("abcde", names, strict=True))
    renamed = [path._replace(channels=tuple(new[channel] for channel in path.channels)) for path in paths]
    chance.shuffle(renamed)
    wanted = {new[channel]: credit for channel, credit in credit_channels(model, paths, NUMBERS).items()}
    assert is_close(credit_channels(model, renamed, NUMBERS), wanted)


@given(PATHS)
def test_markov_credit_ignores_repeated_channels(paths: list[Path]) -> None:
    once = [path._replace(channels=tuple(channel for channel, _ in groupby(path.channels))) for path in paths]
    assert is_close(credit_channels("markov", paths, NUMBERS), credit_channels("markov", once, NUMBERS))


@given(PATHS)
def test_chain_conversion_probability_equals_conversion_rate(paths: list[Path]) -> None:
    walks = sum(path.conversions + path.nulls for path in paths)
    rate = sum(path.conversions for path in paths) / walks if walks else 0
    chain = Chain((path.channels, path.conversions, path.nulls) for path in paths)
    assert chain.conversion_probability == pytest.approx(rate, abs=1e-9)


@given(PATHS)
def test_removal_share_equals_loss_of_walks_without_the_channel(paths: list[Path]) -> None:
    walks = [(path.channels, path.conversions, path.nulls) for path in paths]
    every = walk(walks, without=None)
    lost = {channel: every - walk(walks, without=channel) for path in paths for channel in path.channels}
    total = sum(lost.values())
    found = removal_shares(walks)
    for channel, loss in lost.items():
        assert found[channel] == pytest.approx(loss / total if total else 0, abs=1e-6)


@given(PATHS)
def test_shapley_credit_equals_mean_marginal_contribution(paths: list[Path]) -> None:
    channels = sorted({channel for path in paths for channel in path.channels})

    def worth(coalition: set[str]) -> float:
        return sum(path.conversions for path in paths if coalition.issuperset(path.channels))

    found = credit_channels("shapley", paths, NUMBERS)
    for channel in channels:
        others = [other for other in channels if other != channel]
        mean = 0.0
        for size in range(len(others) + 1):
            weight = factorial(size) * factorial(len(others) - size) / factorial(len(channels))
            for some in combinations(others, size):
                mean += weight * (worth({*some, channel}) - worth({*some}))
        assert found[channel].conversions == pytest.approx(mean, abs=1e-9)


def test_rounded_values_sum_to_total_value() -> None:
    paths = [Path(("a", "b", "c"), 1, 0.0001), Path(("c", "d"), 1, 10.0001)]
    found = credit_channels("shapley", paths, NUMBERS)
    wanted = {"a": "0.0000", "b": "0.0000", "c": "5.0001", "d": "5.0001"}
    assert to_money(found, total_value(paths)) == {name: Decimal(text) for name, text in wanted.items()}
    alone = {name: Credit(1, value) for name, value in (("a", 0.00005), ("b", 0.00005), ("c", 0.0))}
    assert to_money(alone, Decimal("0.0001")) == {
        "a": Decimal("0.0001"), "b": Decimal("0.0000"), "c": Decimal("0.0000"),
    }  # fmt: skip


def test_value_beyond_decimal_range_is_null() -> None:
    found = {"a": Credit(1, 1e14), "b": Credit(1, 1.0)}
    assert to_money(found, Decimal(100000000000001)) == {"a": None, "b": Decimal(1)}


@given(PATHS, st.sampled_from(sorted(PATH_MODELS)))
def test_channel_values_sum_to_value_of_paths(paths: list[Path], model: str) -> None:
    cents = [path._replace(value=path.value / 10_000) for path in paths]
    shared = to_money(credit_channels(model, cents, NUMBERS), total_value(cents))
    assert sum(value or 0 for value in shared.values()) == Decimal(sum(path.value for path in paths)) / 10_000
