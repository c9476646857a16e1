"""The limits of a submission: judged and spent while the account is locked, or refused.

A refusal raises, and rolls everything back: it spends nothing. Of several limits that are
reached, the one that takes the longest to come back is named, so that nobody waits for one only
to be told of the next.
"""

import math
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from tasks_app.core import quotas, rates
from tasks_app.core.accounts import Limits
from tasks_app.core.errors import LimitState, TooMany
from tasks_app.lifecycle import LIVE
from tasks_app.models import Account, Task

_LOOK_AGAIN: Final = 5.0
"""Seconds after which it is worth a try whether a task has ended."""
_DAY: Final = 86_400.0


def spend(account: Account, limits: Limits, now: datetime) -> tuple[LimitState, ...]:
    """Spend one submission; returns every limit with what is left of it.

    Raises ``TooMany``. The caller holds the account's lock, and rolls back if it fails later.
    """
    states = states_of(account, limits, now)
    for state in states:
        if state.remaining < 1:
            raise _refusal(state, states, limits, now)
    if limits.submit_interval > 0:
        verdict = _rate(account, limits, now)
        account.submit_tat = verdict.tat
        account.save(update_fields=["submit_tat"])
    return tuple(_after(state, limits) for state in states)


def states_of(account: Account, limits: Limits, now: datetime) -> tuple[LimitState, ...]:
    """Return the limits that hold now, the slowest to come back first."""
    found: list[LimitState] = []
    if limits.max_month is not None or limits.max_day is not None:
        found += _counts(account, limits, now)
    used = Task.objects.filter(
        owner_id=account.pk, state__in=[state.value for state in LIVE]
    ).count()
    found.append(
        LimitState("open", limits.max_open, max(0, limits.max_open - used), used, _LOOK_AGAIN)
    )
    if limits.submit_interval > 0:
        found.append(_submit(account, limits, now))
    return tuple(found)


def _counts(account: Account, limits: Limits, now: datetime) -> list[LimitState]:
    used = quotas.counted(account.pk, now)
    ends = quotas.month_ends(now)
    periods = (
        ("month", limits.max_month, used.month, ends, ends - quotas.month_begins(now)),
        ("day", limits.max_day, used.today, quotas.day_ends(now), timedelta(seconds=_DAY)),
    )
    return [
        LimitState(
            name,
            limit,
            max(0, limit - number),
            number,
            (end - now).total_seconds(),
            window=length.total_seconds(),
            resets_at=end,
        )
        for name, limit, number, end, length in periods
        if limit is not None
    ]


def _submit(account: Account, limits: Limits, now: datetime) -> LimitState:
    """Return the state of the rate; ``reset`` is the seconds until one more is allowed than now."""
    interval, burst = limits.submit_interval, limits.submit_burst
    verdict = _rate(account, limits, now)
    left = min(burst, verdict.remaining + 1) if verdict.allowed else 0
    ahead = max(0.0, (verdict.tat - now).total_seconds() - interval)
    reset = _until_more(ahead, interval) if verdict.allowed else verdict.retry_after
    at = None if verdict.allowed else now + timedelta(seconds=verdict.retry_after)
    return LimitState(
        "submit", burst, left, burst - left, reset, window=interval * burst, resets_at=at
    )


def _rate(account: Account, limits: Limits, now: datetime) -> rates.Verdict:
    return rates.conform(account.submit_tat, now, limits.submit_interval, limits.submit_burst)


def _until_more(ahead: float, interval: float) -> float:
    """Return the seconds until one more is allowed, ``ahead`` seconds before all of them are."""
    return ahead % interval or min(ahead, interval)


def _after(state: LimitState, limits: Limits) -> LimitState:
    """Return a limit as it is once this submission has been accepted."""
    interval = limits.submit_interval
    reset = _until_more(state.reset + interval, interval) if state.name == "submit" else state.reset
    return replace(state, remaining=state.remaining - 1, used=state.used + 1, reset=reset)


def _refusal(
    state: LimitState, states: tuple[LimitState, ...], limits: Limits, now: datetime
) -> TooMany:
    code, sentence = _SENTENCES[state.name]
    detail = sentence.format(
        used=state.used,
        size=state.limit,
        seconds=math.ceil(state.reset),
        interval=limits.submit_interval,
        at=state.resets_at.strftime("%Y-%m-%d %H:%M UTC") if state.resets_at else "",
    )
    return TooMany(detail, code=code, limit=state, limits=states, retry_after=state.reset)


_SENTENCES: Final = {
    "month": (
        "month_limit",
        "You have used {used} of the {size} tasks of this month. The next one starts at {at}.",
    ),
    "day": (
        "day_limit",
        "You have used {used} of the {size} tasks of today. The next day starts at {at}.",
    ),
    "open": (
        "too_many_open_tasks",
        "You have {used} open tasks and may have {size}. Wait for one to finish, or cancel one.",
    ),
    "submit": (
        "submit_rate",
        "You may submit one task every {interval:g} seconds, {size} at once. "
        "Try again in {seconds} seconds.",
    ),
}
