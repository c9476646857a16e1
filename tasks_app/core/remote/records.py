"""The statements of remote work: each is one short transaction, and says whether it applied.

``polls`` is the number of the question that somebody is asking: whoever takes an attempt adds one,
and an answer to an earlier question changes nothing. A due time that has passed stays as it is:
a webhook or a cancel wants the attempt to be looked at again.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from django.db import connection
from django.db.models.functions import Now

from tasks_app import conf
from tasks_app.core.remote import schedule
from tasks_app.models import Attempt, Generator, Setup


def started(attempt: Attempt, setup: Setup, token: str) -> bool:
    """Note that the submission begins; False: the attempt was revoked, so it must not."""
    rows = Attempt.objects.filter(
        pk=attempt.pk, ended_at__isnull=True, revoked_at__isnull=True, submit_started_at=None
    ).update(setup=setup, webhook_token=token, submit_started_at=Now(), heartbeat_at=Now())
    return rows == 1


_SUBMITTED = """
UPDATE tasks_app_attempt SET
    upstream_id = %(id)s,
    heartbeat_at = clock_timestamp(),
    next_poll_at = CASE WHEN ended_at IS NOT NULL THEN NULL
        WHEN revoked_at IS NOT NULL THEN clock_timestamp()
        ELSE LEAST(next_poll_at, clock_timestamp() + %(delay)s * interval '1 second') END
WHERE id = %(attempt)s
RETURNING ended_at IS NOT NULL AND outcome <> 'success', revoked_at IS NOT NULL
"""


@dataclass(frozen=True, slots=True)
class Fate:
    """What an attempt had become when its submission was answered."""

    ended: bool
    revoked: bool


def submitted(attempt: Attempt, upstream_id: str, delay: float) -> Fate:
    """Write the upstream's id, whatever has become of the attempt; asked after ``delay`` s."""
    values: dict[str, Any] = {"id": upstream_id, "delay": delay, "attempt": attempt.pk}
    with connection.cursor() as cursor:
        cursor.execute(_SUBMITTED, values)
        return Fate(*cursor.fetchone())


def look_again(attempt: Attempt, delay: float) -> None:
    """Let whoever asks look at a submission whose outcome is not known."""
    Attempt.objects.filter(pk=attempt.pk, ended_at__isnull=True).update(
        next_poll_at=Now() + timedelta(seconds=delay)
    )


_TAKE = """
UPDATE tasks_app_attempt AS taken SET
    polls = taken.polls + 1,
    next_poll_at = clock_timestamp() + %(lease)s * interval '1 second'
FROM (
    SELECT attempt.id, attempt.next_poll_at FROM tasks_app_attempt AS attempt
    JOIN tasks_app_task AS task ON task.id = attempt.task_id
    WHERE attempt.ended_at IS NULL AND attempt.next_poll_at <= clock_timestamp()
      AND task.pool = %(pool)s AND NOT task.generator_id = ANY(%(without)s::uuid[])
    ORDER BY attempt.next_poll_at LIMIT %(most)s
    FOR UPDATE OF attempt SKIP LOCKED
) AS due
WHERE taken.id = due.id
RETURNING taken.id, extract(epoch FROM clock_timestamp() - due.next_poll_at),
    COALESCE(extract(epoch FROM clock_timestamp() - taken.submit_started_at), 0),
    EXISTS (SELECT 1 FROM tasks_app_webhook AS kept WHERE kept.attempt_id = taken.id)
"""


@dataclass(frozen=True, slots=True)
class Taken:
    """An attempt that is to be asked about, the seconds it is late and since its submission.

    ``told``: whether a webhook of it is kept; ``known``: whether it is known what its generator's
    work usually takes.
    """

    attempt: Attempt
    late: float
    age: float
    told: bool
    known: bool


def take(pool: str, most: int, without: Sequence[UUID] = ()) -> list[Taken]:
    """Take due attempts of a pool for the length of a lease."""
    values: dict[str, Any] = {
        "lease": conf.get().lease,
        "pool": pool,
        "without": list(without),
        "most": most,
    }
    with connection.cursor() as cursor:
        cursor.execute(_TAKE, values)
        times = {pk: (float(late), float(age), told) for pk, late, age, told in cursor.fetchall()}
    if not times:
        return []
    found = list(Attempt.objects.select_related("task").filter(pk__in=times))
    _share(found)
    return [
        Taken(attempt, *times[attempt.pk], early_seconds(attempt.task.generator) is not None)
        for attempt in found
    ]


def _share(attempts: Sequence[Attempt]) -> None:
    """Give attempts their generators and setups, each read once: many have the same."""
    generators = Generator.objects.in_bulk({attempt.task.generator_id for attempt in attempts})
    setups = Setup.objects.in_bulk({attempt.setup_id for attempt in attempts if attempt.setup_id})
    for attempt in attempts:
        attempt.task.generator = generators[attempt.task.generator_id]
        if attempt.setup_id:
            attempt.setup = setups[attempt.setup_id]


_DUE_POOLS = """
SELECT task.pool, count(*) FROM (
    SELECT task_id FROM tasks_app_attempt
    WHERE ended_at IS NULL AND next_poll_at <= clock_timestamp()
    ORDER BY next_poll_at LIMIT %s
) AS due JOIN tasks_app_task AS task ON task.id = due.task_id
GROUP BY task.pool
"""
_MOST_COUNTED: Final = 2_000


def due_pools() -> dict[str, int]:
    """Return the pools that have due attempts, and how many of the first ones."""
    with connection.cursor() as cursor:
        cursor.execute(_DUE_POOLS, [_MOST_COUNTED])
        return dict(cursor.fetchall())


_STILL_RUNNING = """
WITH asked AS (
    SELECT * FROM unnest(%(ids)s::uuid[], %(polls)s::int[], %(delays)s::float8[],
        %(progress)s::float8[], %(answered)s::bool[]) AS one (id, polls, delay, progress, answered)
), held AS (
    SELECT attempt.id FROM tasks_app_attempt AS attempt JOIN asked ON asked.id = attempt.id
    WHERE attempt.polls = asked.polls AND attempt.ended_at IS NULL
    FOR NO KEY UPDATE OF attempt {locked}
)
UPDATE tasks_app_attempt AS attempt SET
    next_poll_at = CASE WHEN attempt.next_poll_at <= clock_timestamp() THEN attempt.next_poll_at
        ELSE clock_timestamp() + asked.delay * interval '1 second' END,
    progress = GREATEST(attempt.progress, asked.progress),
    poll_failures = CASE WHEN asked.answered THEN 0 ELSE attempt.poll_failures END,
    failing_since = CASE WHEN asked.answered THEN NULL ELSE attempt.failing_since END
FROM held JOIN asked ON asked.id = held.id
WHERE attempt.id = held.id AND attempt.polls = asked.polls
RETURNING attempt.id, attempt.progress
"""


@dataclass(frozen=True, slots=True)
class Later:
    """An attempt to be asked about again after ``delay`` seconds.

    ``progress``: what its upstream told, 0.0 to 1.0; ``answered``: this question was, so that
    failures before it do not count any more.
    """

    attempt: Attempt
    delay: float
    progress: float | None = None
    answered: bool = True


def ask_later(wishes: Sequence[Later]) -> dict[UUID, float]:
    """Set the next due times; returns the progress of each so far, but of those others took."""
    reached = _put_off(wishes, "SKIP LOCKED")
    for wish in wishes:
        # Rows that are locked are waited for one at a time: who holds one of many and waits for
        # another one can be waited for.
        if wish.attempt.pk not in reached:
            reached |= _put_off([wish], "")
    return reached


def _put_off(wishes: Sequence[Later], locked: str) -> dict[UUID, float]:
    values: dict[str, Any] = {
        "ids": [wish.attempt.pk for wish in wishes],
        "polls": [wish.attempt.polls for wish in wishes],
        "delays": [wish.delay for wish in wishes],
        "progress": [wish.progress or 0.0 for wish in wishes],
        "answered": [wish.answered for wish in wishes],
    }
    with connection.cursor() as cursor:
        cursor.execute(_STILL_RUNNING.format(locked=locked), values)
        return {pk: float(progress) for pk, progress in cursor.fetchall()}


_FAILED = """
UPDATE tasks_app_attempt SET
    next_poll_at = CASE WHEN next_poll_at <= clock_timestamp() THEN next_poll_at
        ELSE clock_timestamp() + %(delay)s * interval '1 second' END,
    poll_failures = poll_failures + 1,
    failing_since = COALESCE(failing_since, clock_timestamp())
WHERE id = %(attempt)s AND polls = %(polls)s AND ended_at IS NULL
RETURNING poll_failures, extract(epoch FROM clock_timestamp() - failing_since)
"""


def failing(attempt: Attempt, delay: float, patience: float = 0.0) -> bool:
    """Count a question that got no answer; True when there were enough of them in a row.

    ``patience``: seconds that they must span at least.
    """
    values: dict[str, Any] = {"delay": delay, "attempt": attempt.pk, "polls": attempt.polls}
    with connection.cursor() as cursor:
        cursor.execute(_FAILED, values)
        row = cursor.fetchone()
    if row is None:
        return False
    failures, seconds = row
    enough = seconds >= max(patience, conf.get().poll_failing_seconds)
    return bool(failures >= schedule.FAILURES and enough)


def cancel_sent(attempt: Attempt) -> None:
    """Note that the upstream was asked to stop."""
    Attempt.objects.filter(pk=attempt.pk).update(cancel_sent_at=Now())


def beat(attempts: Sequence[UUID]) -> set[UUID]:
    """Renew submissions in flight; returns those that were revoked."""
    live = Attempt.objects.filter(pk__in=attempts, ended_at__isnull=True)
    live.update(heartbeat_at=Now())
    return set(live.filter(revoked_at__isnull=False).values_list("pk", flat=True))


_KEEP = """
UPDATE tasks_app_attempt AS attempt
SET next_poll_at = clock_timestamp() + %(lease)s * interval '1 second'
FROM unnest(%(ids)s::uuid[], %(polls)s::int[]) AS held (id, polls)
WHERE attempt.id = held.id AND attempt.polls = held.polls AND attempt.ended_at IS NULL
  AND attempt.next_poll_at > clock_timestamp()
"""


def keep_taken(attempts: Sequence[Attempt]) -> None:
    """Hold on to attempts that are being asked about; who wants them again is not overruled."""
    values: dict[str, Any] = {
        "lease": conf.get().lease,
        "ids": [attempt.pk for attempt in attempts],
        "polls": [attempt.polls for attempt in attempts],
    }
    with connection.cursor() as cursor:
        cursor.execute(_KEEP, values)


def refusals(attempt: Attempt) -> int:
    """Return how often the task was refused in a row before this attempt."""
    earlier = Attempt.objects.filter(task_id=attempt.task_id, number__lt=attempt.number)
    found = list(earlier.order_by("-number").values_list("outcome", flat=True)[:10])
    refused = [outcome == "refused" for outcome in found]
    return refused.index(False) if False in refused else len(refused)


_EARLY = """
SELECT percentile_cont(0.01) WITHIN GROUP (ORDER BY seconds) FROM (
    SELECT extract(epoch FROM finished_at - started_at) AS seconds
    FROM tasks_app_task WHERE generator_id = %s AND state = 'success'
    ORDER BY finished_at DESC LIMIT 50
) AS recent HAVING count(*) >= 10
"""


_EARLY_SECONDS: Final = 60.0
_early: dict[UUID, tuple[float, float | None]] = {}


def early_seconds(generator: Generator) -> float | None:
    """Return what the shortest of the last fifty successes took; None: too few to say.

    The first percentile, between the shortest and the next: an end is known only when it is
    noticed, so that a higher one would put off the first question more and more.

    Kept for a minute in this process: every question asks for it.
    """
    held = _early.get(generator.pk)
    if held is not None and time.monotonic() - held[0] < _EARLY_SECONDS:
        return held[1]
    with connection.cursor() as cursor:
        cursor.execute(_EARLY, [generator.pk])
        row = cursor.fetchone()
    found = None if row is None or row[0] is None else float(row[0])
    _early[generator.pk] = (time.monotonic(), found)
    return found
