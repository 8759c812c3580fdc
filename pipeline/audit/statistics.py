"""The statistics of the audit: entropy and mutual information."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from math import fsum, log
from typing import TypeVar

Z = TypeVar("Z", bound=Hashable)
Y = TypeVar("Y", bound=Hashable)


def entropy(counts: Iterable[int]) -> float:
    """Entropy in nats."""
    counts = [count for count in counts if count]
    total = sum(counts)
    return -fsum(count / total * log(count / total) for count in counts)


def evenness(counts: Iterable[int]) -> float:
    """Entropy as a share of the maximum: 1 if all are equally frequent."""
    counts = [count for count in counts if count]
    return entropy(counts) / log(len(counts)) if len(counts) > 1 else 0.0


def dependence(joint: Mapping[tuple[Z, Y], int]) -> float:
    """I(Z;Y) / H(Y) of pairs (z, y) given by counts: 0 if independent, 1 if z decides y.

    The plug-in estimate of the mutual information is too large by about (|Z|-1)(|Y|-1)/2N nats
    (Miller and Madow's correction, see Paninski 2003, "Estimation of entropy and mutual
    information", Neural Computation 15), which is taken off.
    """
    z, y = Counter[Z](), Counter[Y]()
    for (one, other), count in joint.items():
        z[one] += count
        y[other] += count
    total, uncertainty = y.total(), entropy(y.values())
    if not uncertainty:
        return 0.0
    information = entropy(z.values()) + uncertainty - entropy(joint.values())
    bias = (_support(z) - 1) * (_support(y) - 1) / (2 * total)
    return min(1.0, max(0.0, (information - bias) / uncertainty))


def _support(counts: Mapping[Z, int]) -> int:
    return sum(count > 0 for count in counts.values())
