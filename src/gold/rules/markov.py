"""The Markov model: what a channel is worth by what is lost without it.

A path is a walk from a start through channels into conversion or null, and the next step hangs on the present
channel alone (order 1). Take a channel away, so that who comes to it is lost, and fewer walks convert
(Anderl, Becker, von Wangenheim, Schumann 2016, "Mapping the customer journey").
"""

from collections import defaultdict
from collections.abc import Iterable
from itertools import pairwise

import numpy as np
import numpy.typing as npt

Walk = tuple[tuple[str, ...], float, float]  # channels, how often into conversion, how often into null


def removal_shares(walks: Iterable[Walk]) -> dict[str, float]:
    """Each channel's part of all that is lost when channels are removed, one at a time.

    Args:
        walks: channels in order, one at least, and how often they ended in a conversion and in none.

    Returns:
        By channel, sorted: numbers from 0 to 1 that sum to 1; all 0 if nothing ever converted.
    """
    chain = Chain(walks)
    lost = chain.losses()
    total = float(lost.sum())
    shares = lost / total if total > 0 else lost
    return dict(zip(chain.channels, map(float, shares), strict=True))


class Chain:
    """The absorbing chain of some walks, solved in closed form.

    With Q the steps between start and channels, N = (I - Q)^-1 is the fundamental matrix: N[i, j] is how
    often a walk at i comes to j (Kemeny, Snell 1960, "Finite Markov chains", ch. 3).

    Args:
        walks: as `removal_shares` takes them.
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
        out[out == 0] = 1  # a channel that no walk with a count came to
        self._visits = np.linalg.inv(np.eye(size) - counts / out[:, None])
        self._converts = self._visits @ (into / out)

    @property
    def conversion_probability(self) -> float:
        """How probable it is that a walk from the start converts."""
        return float(self._converts[0])

    def losses(self) -> npt.NDArray[np.float64]:
        """By channel: how much less probable a conversion is from the start without it.

        A walk is lost if it ever comes to the channel, N[start, j] / N[j, j], and would have converted from
        there.
        """
        ever = self._visits[0, 1:] / np.diagonal(self._visits)[1:]
        lost: npt.NDArray[np.float64] = np.maximum(ever * self._converts[1:], 0.0)
        return lost
