"""How hard an upstream is pressed: pure rules over a value, and the row that holds it.

* **Limit**: refused for being busy (429, 503, full), an upstream gets 0.7 of what it was given at
  once, never less than 1; every 20 clean submissions it gets one more, up to the generator's own
  limit. What was sent before the limit was last lowered lowers it no further.
* **Hold**: what ``Retry-After`` asks for, at most 5 minutes, holds for all tasks of the generator;
  a credential that is not accepted holds them for half a minute.
* **Circuit**: half of at least 10 submissions of a minute failed: nobody submits for 30 s, doubling
  to 300 s. Then one may, and what becomes of it decides.
* **Retry budget**: ten in stock and one more for every five submissions. Without any left a task
  that failed waits a minute instead of its back-off.

Waiting tasks wait: nothing here ends one. Polls go on: what was submitted is asked about.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now

from tasks_app.core.clock import database_now
from tasks_app.models import Generator, Pressure

FACTOR: Final = 0.7
CLEAN: Final = 20
LONGEST_HOLD: Final = 300.0
OUR_HOLD: Final = 30.0
WINDOW: Final = 60
_STEP: Final = 5
"""Seconds of one entry of the window."""
LEAST: Final = 10
FIRST_OPEN: Final = 30.0
LONGEST_OPEN: Final = 300.0
PROBE_SECONDS: Final = 60.0
"""After which a probe that nobody heard of counts as lost."""
STOCK: Final = 10.0
EARNED: Final = 0.2
RETRY_SECONDS: Final = 60.0


class Fact(StrEnum):
    """What became of a submission, as far as the upstream is concerned."""

    TAKEN = "taken"
    """Accepted, or refused for what it asks: the upstream works."""
    BUSY = "busy"
    FAILED = "failed"
    OURS = "ours"
    """Refused for a reason that the operator can put right."""


@dataclass(frozen=True, slots=True)
class State:
    """What is known of an upstream. ``limit`` None: the generator's own."""

    limit: float | None = None
    clean_run: int = 0
    lowered_at: datetime | None = None
    hold_until: datetime | None = None
    window: tuple[tuple[int, int, int], ...] = ()
    """(seconds since 1970 in steps, submissions, failures of them)."""
    tokens: float = STOCK
    open_until: datetime | None = None
    open_seconds: float = 0.0
    probe_at: datetime | None = None


def after(
    state: State,
    fact: Fact,
    *,
    now: datetime,
    begun: datetime,
    most: int,
    retry_after: float | None = None,
) -> State:
    """Return the state after a submission that began at ``begun``; ``most``: the own limit."""
    state = _limited(state, fact, now, begun, most)
    state = _held(state, fact, now, retry_after)
    if fact is Fact.TAKEN:
        state = replace(state, tokens=min(STOCK, state.tokens + EARNED))
    return _circuit(state, fact, now)


def _limited(state: State, fact: Fact, now: datetime, begun: datetime, most: int) -> State:
    if fact is Fact.BUSY:
        if state.lowered_at is not None and begun <= state.lowered_at:
            return replace(state, clean_run=0)
        lowered = max(1.0, min(state.limit or most, float(most)) * FACTOR)
        return replace(state, limit=lowered, clean_run=0, lowered_at=now)
    if fact is not Fact.TAKEN or state.limit is None:
        return state
    if state.clean_run + 1 < CLEAN:
        return replace(state, clean_run=state.clean_run + 1)
    raised = state.limit + 1
    return replace(state, limit=None if raised >= most else raised, clean_run=0)


def _held(state: State, fact: Fact, now: datetime, retry_after: float | None) -> State:
    seconds = 0.0
    if fact is Fact.OURS:
        seconds = OUR_HOLD
    elif fact is Fact.BUSY and retry_after is not None:
        seconds = min(max(retry_after, 0.0), LONGEST_HOLD)
    if seconds <= 0:
        return state
    until = now + timedelta(seconds=seconds)
    return replace(state, hold_until=max(until, state.hold_until or until))


def _circuit(state: State, fact: Fact, now: datetime) -> State:
    bad = fact is Fact.FAILED
    if state.open_until is not None:
        return _probed(state, bad, now)
    step = int(now.timestamp()) // _STEP
    entries = {
        at: (seen, failed) for at, seen, failed in state.window if at > step - WINDOW // _STEP
    }
    seen, failed = entries.get(step, (0, 0))
    entries[step] = (seen + 1, failed + bad)
    window = tuple((at, *counts) for at, counts in sorted(entries.items()))
    total = sum(seen for _, seen, _ in window)
    failures = sum(failed for _, _, failed in window)
    if bad and total >= LEAST and 2 * failures >= total:
        return _opened(state, FIRST_OPEN, now)
    return replace(state, window=window)


def _probed(state: State, bad: bool, now: datetime) -> State:
    """Judge a submission while the circuit is open: of the probe, or one from before."""
    assert state.open_until is not None
    if state.probe_at is None or now < state.open_until:
        return state
    if bad:
        return _opened(state, min(LONGEST_OPEN, 2 * state.open_seconds), now)
    return replace(state, open_until=None, open_seconds=0.0, probe_at=None, window=())


def _opened(state: State, seconds: float, now: datetime) -> State:
    return replace(
        state,
        open_until=now + timedelta(seconds=seconds),
        open_seconds=seconds,
        probe_at=None,
        window=(),
    )


# --- the row -------------------------------------------------------------------------------


def note(
    generator: Generator, fact: Fact, begun: datetime, retry_after: float | None = None
) -> None:
    """Write down what became of a submission."""
    with transaction.atomic():
        row = _locked(generator)
        state = after(
            _state(row),
            fact,
            now=database_now(),
            begun=begun,
            most=generator.max_running,
            retry_after=retry_after,
        )
        _write(row, state)


def may_submit(generator: Generator) -> bool:
    """Return whether a submission may begin now; while the circuit is open, one is the probe."""
    if not Pressure.objects.filter(pk=generator.pk, open_until__isnull=False).exists():
        return True
    with transaction.atomic():
        row, now = _locked(generator), database_now()
        if row.open_until is None:
            return True
        if now < row.open_until or _probing(row.probe_at, now):
            return False
        row.probe_at = now
        row.save(update_fields=["probe_at"])
    return True


def take_retry(generator: Generator) -> bool:
    """Take one from the retry budget; False: there is none left."""
    with transaction.atomic():
        row = _locked(generator)
        if row.tokens < 1:
            return False
        row.tokens -= 1
        row.save(update_fields=["tokens"])
    return True


@dataclass(frozen=True, slots=True)
class Reading:
    """What holds now: the limit in force, whether nobody may submit and for how many seconds."""

    limit: int | None = None
    closed: bool = False
    circuit: bool = False
    seconds: float = field(default=0.0)


def readings() -> Mapping[UUID, Reading]:
    """Return what holds now for each generator under pressure; others are not in it."""
    under = Pressure.objects.annotate(now=Now()).filter(
        Q(limit__isnull=False) | Q(open_until__isnull=False) | Q(hold_until__gt=Now())
    )
    return {row.pk: _reading(row, row.now) for row in under}


def _reading(row: Pressure, now: datetime) -> Reading:
    limit = None if row.limit is None else max(1, int(row.limit))
    until = max(filter(None, (row.open_until, row.hold_until)), default=now)
    left = max(0.0, (until - now).total_seconds())
    probing = row.open_until is not None and _probing(row.probe_at, now)
    return Reading(limit, left > 0 or probing, row.open_until is not None, left)


def _probing(probe_at: datetime | None, now: datetime) -> bool:
    return probe_at is not None and now - probe_at < timedelta(seconds=PROBE_SECONDS)


_COLUMNS: Final = (
    "limit",
    "clean_run",
    "lowered_at",
    "hold_until",
    "tokens",
    "open_until",
    "open_seconds",
    "probe_at",
)


def _locked(generator: Generator) -> Pressure:
    Pressure.objects.bulk_create([Pressure(generator=generator)], ignore_conflicts=True)
    return Pressure.objects.select_for_update().get(pk=generator.pk)


def _state(row: Pressure) -> State:
    values: dict[str, Any] = {name: getattr(row, name) for name in _COLUMNS}
    return State(**values, window=tuple((at, seen, bad) for at, seen, bad in row.window))


def _write(row: Pressure, state: State) -> None:
    for name in _COLUMNS:
        setattr(row, name, getattr(state, name))
    row.window = [list(entry) for entry in state.window]
    row.save()
