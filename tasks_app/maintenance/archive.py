"""Moving tasks that ended long ago out of the table that is the queue, batch by batch.

A batch is one transaction of two statements. The first picks and locks; rows that somebody else
has locked are left to them, so two archivers share the work. The second deletes the tasks with
their attempts, events and artifacts and inserts what it deleted into the archive. It sees all
that was committed before the locks were taken. What comes later (a line of history that somebody
writes at that very moment) is refused by a foreign key at the end: of two that meet, one fails
whole. So killing it at any moment loses nothing, and whoever begins again goes on.

Totals do not change: a trigger counts events when they are written, and nobody when they leave.
"""

import logging
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.db import IntegrityError, connection, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from tasks_app import conf, metrics
from tasks_app.core.clock import database_now
from tasks_app.lifecycle import TERMINAL, CallbackState
from tasks_app.models import Artifact, Attempt, Callback, Event, Task, Webhook

logger = logging.getLogger(__name__)

BATCH: Final = 500
MOST_BATCH: Final = 1_000
MOST_BATCHES: Final = 1_000_000
_TRIES: Final = 3

ALONG: Final = (Event, Attempt, Artifact)
"""What belongs to a task and moves with it. A test fails when a table that points at one of these
is neither here nor below."""
WAITED_FOR: Final = (Webhook,)
"""What must be gone before a task moves."""

_Place = tuple[datetime, UUID]


class Unequal(RuntimeError):
    """Not as many rows were inserted as were taken away; the batch was rolled back."""


@dataclass(frozen=True, slots=True)
class Moved:
    """What one batch moved."""

    tasks: int
    events: int
    attempts: int
    artifacts: int


def ripe(ended_before: datetime) -> QuerySet[Task]:
    """Return the tasks that may be archived: the one place that says which.

    Ended before that moment; no result that is still kept, nor files that are still owed a
    deletion, as only live rows are looked through for those; no execution that nobody has seen
    stop, as its slots are known by its attempt; no word of an upstream that has not been cleared
    away; no callback that is still to be delivered. Reads the index ``task_archivable``.
    """
    executing = Attempt.objects.filter(task_id=OuterRef("pk"), ended_at__isnull=True)
    with_files = Artifact.objects.filter(task_id=OuterRef("pk"), files_gone_at__isnull=True)
    webhooks = Webhook.objects.filter(attempt__task_id=OuterRef("pk"))
    owing = Callback.objects.filter(task_id=OuterRef("pk"), state=CallbackState.PENDING.value)
    return Task.objects.filter(
        Q(result_expires_at__isnull=True) | Q(result_removed_at__isnull=False),
        ~Exists(executing),
        ~Exists(with_files),
        ~Exists(webhooks),
        ~Exists(owing),
        finished_at__isnull=False,
        finished_at__lte=ended_before,
        state__in=[state.value for state in sorted(TERMINAL)],
    )


def cutoff() -> datetime:
    """Return the moment before which a task must have ended to be archived."""
    return database_now() - timedelta(days=conf.get().archive_days)


def waiting(most: int) -> int:
    """Return how many tasks may be archived now, counting no further than ``most``."""
    return ripe(cutoff()).order_by().values("pk")[:most].count()


def archive(
    *, limit: int | None = None, seconds: float | None = None, batch: int = BATCH
) -> Iterator[Moved]:
    """Archive what is ripe, up to ``limit`` tasks or for ``seconds``; yields after each batch.

    Raises a database error, or ``Unequal``; what was yielded stays.
    """
    before = cutoff()
    give_up = None if seconds is None else time.monotonic() + seconds
    left = limit
    place: _Place | None = None
    for _ in range(MOST_BATCHES):
        size = min(batch, MOST_BATCH) if left is None else min(batch, MOST_BATCH, left)
        if size <= 0 or (give_up is not None and time.monotonic() > give_up):
            return
        moved, place = _batch(before, place, size)
        if moved is None:
            return
        if left is not None:
            left -= moved.tasks
        metrics.count(metrics.ARCHIVED, by=moved.tasks)
        yield moved


def _batch(before: datetime, place: _Place | None, size: int) -> tuple[Moved | None, _Place | None]:
    """Move one batch, from ``place`` on; returns (None, …) when there is nothing left.

    A batch that met somebody who was writing about one of its tasks is tried again.
    """
    for left in reversed(range(_TRIES)):
        try:
            with transaction.atomic():
                found = _pick(before, place, size)
                if not found:
                    return None, place
                moved = _move([pk for _, pk in found])
            return moved, found[-1]
        except IntegrityError as error:
            logger.warning("a batch of the archive was rolled back: %s", error)
            if not left:
                raise
    raise AssertionError


def _pick(before: datetime, place: _Place | None, size: int) -> list[_Place]:
    """Lock the next tasks. Going on from a place spares the index entries of those just moved."""
    rows = ripe(before)
    if place is not None:
        rows = rows.filter(finished_at__gte=place[0]).exclude(
            finished_at=place[0], pk__lte=place[1]
        )
    locked = rows.select_for_update(skip_locked=True, of=("self",), no_key=False)
    ordered = locked.order_by("finished_at", "pk").values_list("finished_at", "pk")
    return [(at, pk) for at, pk in ordered[:size] if at is not None]


_MOVE: Final = """
WITH events AS (
    DELETE FROM tasks_app_event WHERE task_id = ANY(%(ids)s) RETURNING *
), attempts AS (
    DELETE FROM tasks_app_attempt WHERE task_id = ANY(%(ids)s) RETURNING *
), artifacts AS (
    DELETE FROM tasks_app_artifact WHERE task_id = ANY(%(ids)s) RETURNING *
), moved AS (
    DELETE FROM tasks_app_task WHERE id = ANY(%(ids)s) RETURNING *
), event_lists AS (
    SELECT task_id, jsonb_agg(to_jsonb(one) ORDER BY id) AS list FROM events AS one GROUP BY task_id
), attempt_lists AS (
    SELECT task_id, jsonb_agg(to_jsonb(one) ORDER BY number) AS list
    FROM attempts AS one GROUP BY task_id
), artifact_lists AS (
    SELECT task_id, jsonb_agg(to_jsonb(one) ORDER BY position) AS list
    FROM artifacts AS one GROUP BY task_id
), inserted AS (
    INSERT INTO tasks_app_archivedtask (id, owner_id, generator_id, state, error_code, created_at,
        finished_at, archived_at, params, "row", attempts, events, artifacts)
    SELECT id, owner_id, generator_id, state, error_code, created_at, finished_at,
        statement_timestamp(), params,
        to_jsonb(moved) - ARRAY['id', 'owner_id', 'generator_id', 'state', 'error_code',
            'created_at', 'finished_at', 'params'],
        COALESCE(attempt_lists.list, '[]'), COALESCE(event_lists.list, '[]'),
        COALESCE(artifact_lists.list, '[]')
    FROM moved
    LEFT JOIN event_lists ON event_lists.task_id = moved.id
    LEFT JOIN attempt_lists ON attempt_lists.task_id = moved.id
    LEFT JOIN artifact_lists ON artifact_lists.task_id = moved.id
    RETURNING jsonb_array_length(events) AS events, jsonb_array_length(attempts) AS attempts,
        jsonb_array_length(artifacts) AS artifacts
)
SELECT (SELECT count(*) FROM moved), (SELECT count(*) FROM events),
    (SELECT count(*) FROM attempts), (SELECT count(*) FROM artifacts),
    count(*), COALESCE(sum(events), 0), COALESCE(sum(attempts), 0), COALESCE(sum(artifacts), 0)
FROM inserted
"""


def _move(ids: list[UUID]) -> Moved:
    """Move these tasks, within the caller's transaction. Raises ``Unequal``."""
    with connection.cursor() as cursor:
        cursor.execute(_MOVE, {"ids": ids})
        counts = [int(count) for count in cursor.fetchone()]
    taken, inserted = counts[:4], counts[4:]
    if taken != inserted or taken[0] != len(ids):
        raise Unequal(f"{len(ids)} tasks: took away {taken}, inserted {inserted}")
    return Moved(*taken)
