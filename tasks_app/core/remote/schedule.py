"""When an upstream is asked: pure functions over values.

Full jitter: ``uniform(0, min(cap, base * 2^n))`` with a floor, n = questions so far. Source:
M. Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015. The first question waits
for a low percentile of the generator's recent durations: before that nearly nothing is done.
"""

import math
import random
from typing import Final

from tasks_app.generators.remote import Pace

FLOOR: Final = 1.0
RARE: Final = 4.0
"""How much rarer the questions are where a webhook is expected: they are the safety net."""
_LONGEST_HINT: Final = 300.0
MOST_WAIT: Final = 3600.0
"""Seconds that an upstream may ask to be left alone; more than that is taken for this."""
FAILURES: Final = 3
FAILING_SECONDS: Final = 60.0
"""So many failures in a row that span so long end an attempt."""


def interval(pace: Pace, asked: int, *, rare: bool = False) -> float:
    """Return the seconds until the next question, after ``asked`` ones."""
    longest = _grown(pace, asked) * (RARE if rare else 1.0)
    return max(FLOOR, random.uniform(0.0, longest))


def _grown(pace: Pace, asked: int) -> float:
    asked = min(max(asked, 0), 60)
    if pace.growth == "fibonacci":
        step, following = 1, 1
        for _ in range(asked):
            step, following = following, step + following
        return min(pace.cap, pace.base * step)
    return min(pace.cap, pace.base * 2.0**asked)


def first(pace: Pace, early: float | None, hint: float | None, *, rare: bool = False) -> float:
    """Return the seconds until the first question.

    ``early`` is what a tenth of the recent generations took at most, ``hint`` what the upstream
    asked for; the later one holds. Nine of ten are not done before ``early``.
    """
    return max(interval(pace, 0, rare=rare), early or 0.0, _within(hint))


def after(pace: Pace, asked: int, hint: float | None, *, rare: bool = False) -> float:
    """Return the seconds until the next question; a hint only makes it later."""
    return max(interval(pace, asked, rare=rare), _within(hint))


def _within(hint: float | None) -> float:
    return 0.0 if hint is None else min(max(hint, 0.0), _LONGEST_HINT)


def most_polls(pace: Pace, timeout: float) -> int:
    """Return after how many questions an attempt ends: far more than its deadline leaves room for.

    The mean interval is half of ``cap``, so a third of it is met by chance in no lifetime.
    """
    return math.ceil(3 * timeout / max(pace.cap, FLOOR)) + 10


def held_off(retry_after: float | None, refusals: int) -> float:
    """Return the seconds until a refused task may try again, after so many refusals in a row.

    What the upstream asked for, clamped and with a little spread, so that those who were refused
    together do not come back together; else full jitter from 2 s to a minute.
    """
    if retry_after is not None:
        return min(retry_after, MOST_WAIT) * random.uniform(1.0, 1.1) + random.uniform(0.0, 1.0)
    return max(FLOOR, random.uniform(0.0, min(60.0, 2.0 * 2.0 ** min(refusals, 10))))
