"""The Markov model: a channel is credited by the conversions that are lost without it.

A path is a walk from a start through channels to conversion or null. The next step depends only on the
current channel (order 1). If a channel is removed, walks that reach it are lost, and fewer walks convert
(Anderl, Becker, von Wangenheim, Schumann 2016, "Mapping the customer journey").
"""

from collections import defaultdict
from collections.abc import Iterable
from itertools import pairwise

import numpy as np
import numpy.typing as npt

Walk = tuple[tuple[str, ...], float, float]  # channels, number of conversions, number of nulls


def removal_shares(walks: Iterable[Walk]) -> dict[str, float]:
    """Each channel's share of the losses when channels are removed, one at a time.

    Args:
        walks: channels in order, at least one, and how often they ended in a conversion and in null.

    Returns:
        By channel, sorted: numbers from 0 to 1 that sum to 1; all 0 without conversions.
    """
    chain = Chain(walks)
    lost = chain.losses()
    total = float(lost.sum())
    shares = lost / total if total > 0 else lost
    return dict(zip(chain.channels, map(float, shares), strict=True))


class Chain:
    """The absorbing chain of some walks, solved in closed form.

    Q has the probabilities of steps between start and channels. N = (I - Q)^-1 is the fundamental matrix:
    N[i, j] is the expected number of visits to j of a walk at i (Kemeny, Snell 1960, "Finite Markov chains",
    ch. 3).

    Args:
        walks: see `removal_shares`.
    """

    def __init__(self, walks: Iterable[Walk]) -> None:
        steps: dict[tuple[str | None, str | None], float] = defaultdict(float)
        converted: dict[str, float] = defaultdict(float)
        ended: dict[str, float] = defaultdict(float)
        for channels, conversions, nulls in walks:
            times = conversions + nulls
            if times:
                for step in pairwise((None, *channels)):
                    steps[step] += times
            for channel in channels:
                ended[channel] += 0.0
            converted[channels[-1]] += conversions
            ended[channels[-1]] += times
        self.channels = sorted(ended)
        place: dict[str | None, int] = {None: 0}
        place |= {channel: number for number, channel in enumerate(self.channels, 1)}
        size = len(place)
        counts, into = np.zeros((size, size)), np.zeros(size)
        for (before, after), times in steps.items():
            counts[place[before], place[after]] = times
        for channel, times in converted.items():
            into[place[channel]] = times
        out = counts.sum(axis=1) + np.array([0.0, *(ended[channel] for channel in self.channels)])
        out[out == 0] = 1  # a channel that only walks with count 0 reach
        self._visits = np.linalg.inv(np.eye(size) - counts / out[:, None])
        self._converts = self._visits @ (into / out)

    @property
    def conversion_probability(self) -> float:
        """Probability that a walk from the start converts."""
        return float(self._converts[0])

    def losses(self) -> npt.NDArray[np.float64]:
        """By channel, the decrease of the conversion probability when the channel is removed.

        A walk is lost if it reaches the channel, with probability N[start, j] / N[j, j], and would have
        converted from there.
        """
        ever = self._visits[0, 1:] / np.diagonal(self._visits)[1:]
        lost: npt.NDArray[np.float64] = np.maximum(ever * self._converts[1:], 0.0)
        return lost
