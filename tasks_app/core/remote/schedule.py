"""When an upstream is asked: pure functions over values.

Full jitter: ``uniform(0, min(cap, base * 2^n))`` with a floor, n = questions so far. Source:
M. Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015. The first question waits
for a low percentile of the generator's recent durations: before that nearly nothing is done. Where
these are known, ``informed`` says how it goes on.
"""

import math
import random
from typing import Final

from tasks_app.generators.remote import Pace

FLOOR: Final = 1.0
RARE: Final = 4.0
"""How much rarer the questions are where a webhook is expected: they are the safety net."""
_SCOUTS: Final = 0.1
_LONGEST_HINT: Final = 300.0
MOST_WAIT: Final = 3600.0
"""Seconds that an upstream may ask to be left alone; more than that is taken for this."""
STORAGE_FLOOR: Final = 5.0
"""Seconds: a storage that refuses, such as a full disk, is not put right within a moment."""
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


def informed(pace: Pace, age: float, *, rare: bool = False) -> float:
    """Return the seconds until the next question where recent durations are known.

    The first one waited for them, so there is no need to begin with many: the interval follows
    the age, ``uniform(0.68, 0.84)`` of 0.8 times it within base and cap. It varies less than full
    jitter does, as the times at which generations end spread the questions: half of the questions
    notice an end no later (``bench.questions`` compares them, a test simulates it anew).
    """
    usual = min(pace.cap, max(pace.base, 0.8 * age)) * (RARE if rare else 1.0)
    return max(FLOOR, random.uniform(0.68, 0.84) * usual)


def first(pace: Pace, early: float | None, hint: float | None, *, rare: bool = False) -> float:
    """Return the seconds until the first question.

    ``early`` is what the shortest of the recent generations took, ``hint`` what the upstream
    asked for; the later one holds. Nearly none is done before ``early``. One of ten is asked about
    in half that time: an end is known only when it is noticed, so that an upstream which has
    become faster would be found out slowly.
    """
    spread = random.uniform(0.95, 1.05) * (0.5 if random.random() < _SCOUTS else 1.0)
    return max(interval(pace, 0, rare=rare), (early or 0.0) * spread, _within(hint))


def after(
    pace: Pace,
    asked: int,
    hint: float | None,
    *,
    age: float = 0.0,
    known: bool = False,
    rare: bool = False,
) -> float:
    """Return the seconds until the next question; a hint only makes it later.

    ``age``: seconds since the submission; ``known``: whether recent durations are.
    """
    chosen = informed(pace, age, rare=rare) if known else interval(pace, asked, rare=rare)
    return max(chosen, _within(hint))


def for_storage(pace: Pace) -> float:
    """Return the seconds until a result that the storage refused is asked for again.

    Never less than 0.4 of the longest interval, so that the waits stay below ``most_polls``.
    """
    return max(STORAGE_FLOOR, random.uniform(0.4, 0.8) * pace.cap)


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
