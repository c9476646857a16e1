"""The outbox: rows are written in the transaction of what they tell, taken when due, and settled.

Taking a row moves its due time ahead by a lease and raises its attempt number, so that nobody
else takes it, no transaction is open while the network is used, and whoever comes back after the
lease is over settles nothing (compare-and-set on the number). A deliverer that dies at any point
leaves rows that are due again when their lease is over: at least once.
"""

import random
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Q
from django.db.models.functions import Now

from tasks_app import conf
from tasks_app.callbacks import schedule, sealing, targets
from tasks_app.callbacks.sending import Answer
from tasks_app.lifecycle import CallbackEvent, CallbackState, Delivery
from tasks_app.models import Callback, CallbackAddress, CallbackAttempt, new_id

LEASE: Final = 10.0
"""Seconds that an attempt (3) and settling it may take before somebody else tries."""

PER_LANE: Final = 4
PER_OWNER: Final = 256
"""Half of all: one account with many silent receivers does not fill the deliverer."""
WINDOW: Final = 256
"""Due rows that one look reads."""

_MOST_LANES: Final = 1_000
_BATCH: Final = 500
_AGAIN_AFTER: Final = timedelta(seconds=5)
"""Between two redeliveries by hand of one callback: a double click is one."""


@dataclass(frozen=True, slots=True)
class Job:
    """A callback that was taken: everything that its attempt needs."""

    id: UUID
    owner_id: int
    event: CallbackEvent
    url: str
    lane: str
    body: bytes
    number: int
    failures: int
    created_at: datetime
    secrets: tuple[str, ...]
    taken: float
    """When, on this process's monotonic clock."""

    @property
    def late(self) -> bool:
        """Whether the lease may be over before an attempt is: somebody else may have it."""
        return time.monotonic() - self.taken > LEASE / 2


@dataclass(slots=True)
class Room:
    """What goes on in one deliverer, and how much more may."""

    capacity: int
    lanes: Counter[str] = field(default_factory=Counter)
    owners: Counter[int] = field(default_factory=Counter)

    @property
    def free(self) -> int:
        """How many more attempts may begin."""
        return self.capacity - self.lanes.total()

    def enter(self, lane: str, owner_id: int) -> bool:
        """Take a place if lane, owner and all have one."""
        full = self.lanes[lane] >= PER_LANE or self.owners[owner_id] >= PER_OWNER
        if full or self.free <= 0:
            return False
        self.lanes[lane] += 1
        self.owners[owner_id] += 1
        return True

    def leave(self, lane: str, owner_id: int) -> None:
        """Give a place back."""
        self.lanes -= Counter({lane: 1})
        self.owners -= Counter({owner_id: 1})

    def copy(self) -> "Room":
        """Return the same room, to be used by another thread."""
        return Room(self.capacity, self.lanes.copy(), self.owners.copy())


# --- writing -------------------------------------------------------------------------------


def write(
    owner_id: int,
    task_id: UUID | None,
    event: CallbackEvent,
    url: str,
    body: bytes,
    *,
    anyway: bool = False,
) -> Callback:
    """Insert an event, within the caller's transaction.

    At a disabled address it ends at once, unless it is to be tried ``anyway``.
    """
    (written,) = write_all([Telling(owner_id, task_id, event, url, body)], anyway=anyway)
    return written


@dataclass(frozen=True, slots=True)
class Telling:
    """An event that an owner is to be told at an address, with its bytes."""

    owner_id: int
    task_id: UUID | None
    event: CallbackEvent
    url: str
    body: bytes


def write_all(tellings: Sequence[Telling], *, anyway: bool = False) -> list[Callback]:
    """Insert events as ``write`` does, in one statement."""
    disabled = set() if anyway else _disabled(tellings)
    return Callback.objects.bulk_create(
        _row(one, disabled=(one.owner_id, one.url) in disabled) for one in tellings
    )


def _disabled(tellings: Sequence[Telling]) -> set[tuple[int, str]]:
    """Return the owners and addresses, of those that are to be told, which are disabled."""
    rows = CallbackAddress.objects.filter(
        owner_id__in={one.owner_id for one in tellings},
        url__in={one.url for one in tellings},
        disabled_at__isnull=False,
    )
    return set(rows.values_list("owner_id", "url"))


def _row(telling: Telling, *, disabled: bool) -> Callback:
    state = CallbackState.DISABLED if disabled else CallbackState.PENDING
    return Callback(
        id=new_id(),
        owner_id=telling.owner_id,
        task_id=telling.task_id,
        event=telling.event.value,
        url=telling.url,
        lane=_lane(telling.url),
        body=telling.body,
        state=state.value,
        created_at=Now(),
        next_attempt_at=None if disabled else Now(),
        ended_at=Now() if disabled else None,
    )


def _lane(url: str) -> str:
    """Return the lane; an address that is not acceptable any more is told so by its attempt."""
    try:
        return targets.read(url, conf.get().callback_allow).lane
    except targets.Unacceptable:
        return "unacceptable"


# --- taking --------------------------------------------------------------------------------

_DUE: Final = """
SELECT id, lane, owner_id FROM tasks_app_callback
WHERE state = 'pending' AND next_attempt_at <= statement_timestamp()
  AND lane <> ALL(%(lanes)s::text[]) AND owner_id <> ALL(%(owners)s::bigint[])
ORDER BY next_attempt_at LIMIT %(window)s
"""
# From lane to lane by the index, a few rows of each: what stands before does not matter.
_DUE_BY_LANE: Final = """
WITH RECURSIVE lanes(lane, place) AS (
    (SELECT lane, 1 FROM tasks_app_callback WHERE state = 'pending' ORDER BY lane LIMIT 1)
    UNION ALL
    SELECT (SELECT next.lane FROM tasks_app_callback AS next
            WHERE next.state = 'pending' AND next.lane > lanes.lane
            ORDER BY next.lane LIMIT 1), place + 1
    FROM lanes WHERE lanes.lane IS NOT NULL AND place < %(most)s
)
SELECT due.id, lanes.lane, due.owner_id FROM lanes CROSS JOIN LATERAL (
    SELECT id, owner_id, next_attempt_at FROM tasks_app_callback
    WHERE state = 'pending' AND lane = lanes.lane AND next_attempt_at <= statement_timestamp()
      AND owner_id <> ALL(%(owners)s::bigint[])
    ORDER BY next_attempt_at LIMIT %(per_lane)s
) AS due
WHERE lanes.lane <> ALL(%(lanes)s::text[])
ORDER BY due.next_attempt_at LIMIT %(window)s
"""
_TAKE: Final = """
UPDATE tasks_app_callback
SET attempts = attempts + 1, failures = failures + 1,
    next_attempt_at = statement_timestamp() + make_interval(secs => %(lease)s)
WHERE id IN (
    SELECT id FROM tasks_app_callback
    WHERE id = ANY(%(ids)s::uuid[]) AND state = 'pending'
      AND next_attempt_at <= statement_timestamp()
    FOR UPDATE SKIP LOCKED
)
RETURNING id, owner_id, event, url, lane, body, attempts, failures, created_at
"""


def take(room: Room) -> list[Job]:
    """Take due rows, as many as there is room for, the longest due first.

    ``room`` is used up. An attempt counts as failed from the moment that it is taken: what kills
    its deliverer each time ends, too.
    """
    chosen = _choose(room)
    if not chosen:
        return []
    taken = time.monotonic()
    with connection.cursor() as cursor:
        cursor.execute(_TAKE, {"lease": LEASE, "ids": list(chosen)})
        return _jobs(cursor.fetchall(), taken)


def _choose(room: Room) -> set[UUID]:
    """Read what is due and enter it; by lane if the oldest rows alone do not fill the room."""
    chosen: set[UUID] = set()
    for statement in (_DUE, _DUE_BY_LANE):
        values: dict[str, Any] = {
            "lanes": [lane for lane, n in room.lanes.items() if n >= PER_LANE],
            "owners": [owner for owner, n in room.owners.items() if n >= PER_OWNER],
            "window": WINDOW,
            "most": _MOST_LANES,
            "per_lane": PER_LANE,
        }
        with connection.cursor() as cursor:
            cursor.execute(statement, values)
            found = cursor.fetchall()
        for pk, lane, owner_id in found:
            if pk not in chosen and room.enter(lane, owner_id):
                chosen.add(pk)
        if len(found) < WINDOW or room.free <= 0:
            break
    return chosen


def _jobs(rows: Sequence[tuple[Any, ...]], taken: float) -> list[Job]:
    signers = sealing.signers({row[1] for row in rows})
    found = []
    for pk, owner_id, event, url, lane, body, number, failures, created_at in rows:
        job = Job(
            pk,
            owner_id,
            CallbackEvent(event),
            url,
            lane,
            bytes(body),
            number,
            failures,
            created_at,
            tuple(signers[owner_id]),
            taken,
        )
        if failures > _last_failure(job):  # each attempt of the round took its deliverer along
            _end(job, CallbackState.EXHAUSTED)
        else:
            found.append(job)
    return found


# --- settling ------------------------------------------------------------------------------


def settle(job: Job, answer: Answer) -> bool:
    """Write down what came of an attempt. False: somebody else has taken the callback since."""
    with transaction.atomic():
        settled = _settle(job, answer)
        attempt = CallbackAttempt(
            callback_id=job.id,
            number=job.number,
            at=Now() - timedelta(seconds=answer.seconds),
            seconds=answer.seconds,
            outcome=answer.outcome.value,
            status=answer.status,
            answer=answer.text,
        )
        if Callback.objects.filter(pk=job.id).exists():
            # Twice only after a commit whose answer was lost.
            CallbackAttempt.objects.bulk_create([attempt], ignore_conflicts=True)
    return settled


def _settle(job: Job, answer: Answer) -> bool:
    last: dict[str, Any] = {
        "last_at": Now(),
        "last_outcome": answer.outcome.value,
        "last_status": answer.status,
    }
    if answer.outcome is Delivery.DELIVERED:
        settled = _end(job, CallbackState.DELIVERED, **last)
        _address_answers(job)
        return settled
    if answer.outcome is Delivery.GONE:
        settled = _end(job, CallbackState.DISABLED, **last)
        _address_is_gone(job)
        return settled
    wait = _delay(job, answer)
    if wait is None:
        return _end(job, CallbackState.EXHAUSTED, **last)
    again = Now() + timedelta(seconds=wait)
    return bool(_held(job).update(next_attempt_at=again, **last) == 1)


def _delay(job: Job, answer: Answer) -> float | None:
    if job.event is CallbackEvent.TEST:
        return None  # somebody looks on, and can press the button again
    return schedule.delay(
        job.failures,
        slow=conf.get().callback_slow_retries,
        retry_after=answer.retry_after,
        uniform=random.uniform,
    )


def _last_failure(job: Job) -> int:
    if job.event is CallbackEvent.TEST:
        return schedule.FAST
    return schedule.last_failure(slow=conf.get().callback_slow_retries)


def _held(job: Job) -> Any:
    return Callback.objects.filter(
        pk=job.id, state=CallbackState.PENDING.value, attempts=job.number
    )


def _end(job: Job, state: CallbackState, **changes: Any) -> bool:
    rows = _held(job).update(state=state.value, next_attempt_at=None, ended_at=Now(), **changes)
    return bool(rows == 1)


def _address_answers(job: Job) -> None:
    CallbackAddress.objects.filter(
        owner_id=job.owner_id, url=job.url, disabled_at__isnull=False
    ).update(disabled_at=None)


def _address_is_gone(job: Job) -> None:
    """Disable the address, and what waits to go there. The owner is told by page and API."""
    address, made = CallbackAddress.objects.get_or_create(
        owner_id=job.owner_id, url=job.url, defaults={"disabled_at": Now()}
    )
    if not made:
        CallbackAddress.objects.filter(pk=address.pk, disabled_at__isnull=True).update(
            disabled_at=Now()
        )
    waiting = Callback.objects.filter(
        owner_id=job.owner_id, url=job.url, state=CallbackState.PENDING.value
    )
    # In the order of their ids, as everybody who locks several of them.
    held = waiting.order_by("pk").select_for_update(skip_locked=True).values_list("pk", flat=True)
    waiting.filter(pk__in=list(held[:_BATCH])).update(
        state=CallbackState.DISABLED.value, next_attempt_at=None, ended_at=Now()
    )


# --- by hand -------------------------------------------------------------------------------


def redeliver(rows: Q, *, most: int = _BATCH) -> list[UUID]:
    """Let callbacks begin a new round now; returns those that do.

    Ended ones, and pending ones whose next attempt is far. One that was redelivered a moment ago
    is left alone.
    """
    far = Q(next_attempt_at__gt=Now() + timedelta(seconds=schedule.CAP + LEASE))
    ready = (~Q(state=CallbackState.PENDING.value) | far) & (
        Q(redelivered_at__isnull=True) | Q(redelivered_at__lt=Now() - _AGAIN_AFTER)
    )
    with transaction.atomic():
        found = Callback.objects.filter(rows).filter(ready).order_by("pk")
        chosen = list(found.select_for_update(skip_locked=True).values_list("pk", flat=True)[:most])
        Callback.objects.filter(pk__in=chosen).update(
            state=CallbackState.PENDING.value,
            failures=0,
            next_attempt_at=Now(),
            ended_at=None,
            redelivered_at=Now(),
        )
    return chosen


# --- what the ticker and the sweep ask -----------------------------------------------------


def any_due() -> bool:
    """Return whether a callback is due."""
    due = Callback.objects.filter(state=CallbackState.PENDING.value, next_attempt_at__lte=Now())
    return due.exists()


def backlog() -> tuple[float, float]:
    """Return how many callbacks are pending, and for how many seconds the oldest has been due."""
    pending = Callback.objects.filter(state=CallbackState.PENDING.value)
    oldest = pending.order_by("next_attempt_at").values_list("next_attempt_at", flat=True).first()
    late = 0.0 if oldest is None else (database_now() - oldest).total_seconds()
    return float(pending.count()), max(0.0, late)


def purge(days: float, *, dry_run: bool = False) -> int:
    """Delete one batch of ended callbacks that are older than so many days, with their log."""
    before = database_now() - timedelta(days=days)
    old = Callback.objects.filter(pk__lt=first_id_of(before))
    ended = old.exclude(state=CallbackState.PENDING.value)
    chosen: Sequence[UUID] = list(ended.order_by("pk").values_list("pk", flat=True)[:_BATCH])
    if chosen and not dry_run:
        with transaction.atomic():
            CallbackAttempt.objects.filter(callback_id__in=chosen).delete()
            Callback.objects.filter(pk__in=chosen).delete()
    return len(chosen)


def first_id_of(moment: datetime) -> UUID:
    """Return the least id of that moment: ids begin with the milliseconds of their making."""
    return UUID(int=max(0, int(moment.timestamp() * 1000)) << 80)


def database_now() -> datetime:
    """Return the database's time."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        (found,) = cursor.fetchone()
    assert isinstance(found, datetime)
    return found
