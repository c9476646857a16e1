"""When a callback is tried again: pure functions.

Up to five retries with full jitter (base 2 s, cap 30 s), for what is over in a moment; then a slow
tier of hours, for receivers that are down; then it is exhausted. A round is what begins with the
event, and anew with each redelivery by hand.
"""

import random
from collections.abc import Callable
from typing import Final

FAST: Final = 5
"""Retries of the fast tier."""

BASE: Final = 2.0
CAP: Final = 30.0
LEAST: Final = 0.5
SLOW: Final = (300.0, 1_800.0, 7_200.0, 21_600.0, 54_000.0)
"""5 min, 30 min, 2 h, 6 h, 15 h: together almost a day."""

Uniform = Callable[[float, float], float]


def delay(
    failures: int,
    *,
    slow: bool = True,
    retry_after: float | None = None,
    uniform: Uniform = random.uniform,
) -> float | None:
    """Return the seconds until the next attempt after so many failures of the round.

    None: the callback is exhausted. A receiver's ``Retry-After`` is honoured up to ``CAP``; the
    delays of the slow tier are longer than that anyway.
    """
    if failures <= FAST:
        most = min(CAP, BASE * 2 ** (failures - 1))
        asked = min(retry_after or 0.0, CAP)
        return max(LEAST, uniform(0.0, most), asked)
    place = failures - FAST - 1
    if not slow or place >= len(SLOW):
        return None
    return SLOW[place]


def last_failure(*, slow: bool = True) -> int:
    """Return the failures after which a callback is exhausted."""
    return FAST + 1 + (len(SLOW) if slow else 0)
