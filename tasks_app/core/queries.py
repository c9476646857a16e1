"""Reads. Polls are answered from snapshots; the table is read when there is none."""

import logging
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any
from uuid import UUID

import orjson
from django.db.models import Prefetch, QuerySet
from redis.exceptions import RedisError

from tasks_app.core import archived, documents
from tasks_app.core.errors import NotFound
from tasks_app.core.presence import Presence, presence
from tasks_app.gates import figures, snapshots
from tasks_app.gates.connection import failed_within
from tasks_app.lifecycle import TERMINAL, State
from tasks_app.models import Artifact, Attempt, Task

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class View:
    """A task as it is now: its document, ETag and the seconds to wait before asking again."""

    document: documents.Document
    etag: str
    retry_after: int | None


def view(task_id: UUID, owner_id: int) -> View:
    """Return one task of this owner. Raises ``NotFound`` for anybody else's."""
    found = views([task_id], owner_id)
    if not found:
        raise NotFound("There is no such task.")
    return found[0]


def views(task_ids: Sequence[UUID], owner_id: int, *, kept: bool = True) -> list[View]:
    """Return those of the tasks that are this owner's, in the order asked for.

    ``kept``: documents that this process keeps will do. Polls ask again soon; a page that is
    looked at once must not show what was removed by way of another process seconds ago.
    """
    bodies = _bodies(list(task_ids), kept)
    own = [
        (bodies[task_id], task_id)
        for task_id in task_ids
        if task_id in bodies and bodies[task_id][0]["owner"] == owner_id
    ]
    now = time.time()
    return [_view(*body, now) for body, _ in own]


Body = tuple[dict[str, Any], int | None]
"""A snapshot's body and the percent that the running attempt reported."""


def _bodies(task_ids: list[UUID], kept: bool) -> dict[UUID, Body]:
    found: dict[UUID, Body] = {}
    for task_id in task_ids if kept else ():
        body = _terminal.get(task_id)
        if body is not None:
            found[task_id] = (body, None)
    missing = [task_id for task_id in task_ids if task_id not in found]
    told = _read_snapshots(missing)
    for task_id, (raw, progress) in told.items():
        body = None if raw is None else documents.understood(raw)
        if body is not None and not _may_be_stale(body):
            _terminal.keep(task_id, body)
            found[task_id] = (body, _percent(progress, body["document"]["attempt"]))
    missing = [task_id for task_id in missing if task_id not in found]
    return found | _from_table(missing, {pk: progress for pk, (_, progress) in told.items()})


def _may_be_stale(body: dict[str, Any]) -> bool:
    """Whether a snapshot is possibly of before an end that was told while Redis was away.

    Nobody could replace it then, and it lives on when Redis is back: told now, it would take an
    ending back that readers of the table have seen.
    """
    live = State(body["document"]["status"]) not in TERMINAL
    return live and failed_within(snapshots.LIVE_SECONDS)


def _read_snapshots(task_ids: list[UUID]) -> dict[UUID, tuple[bytes | None, bytes | None]]:
    """Read (snapshot, progress) of each task; nothing when Redis is away."""
    if not task_ids:
        return {}
    try:
        return dict(zip(task_ids, snapshots.read(task_ids), strict=True))
    except RedisError as error:
        logger.warning("polls are answered from the table: %s", error)
        return {}


def _from_table(task_ids: list[UUID], progress: dict[UUID, bytes | None]) -> dict[UUID, Body]:
    """Read tasks, in a number of statements that does not grow with theirs.

    ``progress`` is what Redis says; a running task it is silent about has that of its heartbeat.
    """
    if not task_ids:
        return {}
    tasks = list(with_result(Task.objects.filter(pk__in=task_ids)))
    if len(tasks) < len(task_ids):
        live = {task.pk for task in tasks}
        tasks += archived.tasks([pk for pk in task_ids if pk not in live])
    told = {task.pk: _percent(progress.get(task.pk), task.attempt_number) for task in tasks}
    beaten = _reported([task for task in tasks if told[task.pk] is None])
    return {
        task.pk: (orjson.loads(_stored(task, beaten.get(task.pk))), told[task.pk]) for task in tasks
    }


def _percent(progress: bytes | None, attempt: int) -> int | None:
    """Read ``attempt:percent``; progress of an earlier attempt does not count."""
    number, _, percent = (progress or b"").partition(b":")
    if number != str(attempt).encode() or not percent.isdigit() or len(percent) > 3:
        return None
    return int(percent)


def _reported(tasks: Sequence[Task]) -> dict[UUID, int]:
    """Progress of running tasks as of the last heartbeat, when Redis does not know better."""
    current = {task.pk: task.attempt_number for task in tasks if task.state == State.RUNNING}
    if not current:
        return {}
    attempts = Attempt.objects.filter(task_id__in=current)
    rows = attempts.values_list("task_id", "number", "progress")
    return {pk: round(100 * progress) for pk, number, progress in rows if number == current[pk]}


def _view(body: dict[str, Any], reported: int | None, now: float) -> View:
    now_true = presence(body, reported, _figures(body), now)
    document = body["document"] | {
        "progress": now_true.progress,
        "queue_position": now_true.position,
        "waiting_for": now_true.waiting_for,
        "eta_seconds": now_true.eta,
    }
    expired = body["expires"] is not None and body["expires"] <= now
    if expired:
        document["result"] = _expired(document["result"])
    return View(document, _etag(body, now_true, expired), now_true.retry_after)


def _expired(result: dict[str, Any] | None) -> dict[str, Any] | None:
    """A result past its expiry reads as removed, also before the purge gets to it."""
    if result is None or result["removed_at"] is not None:
        return result
    return result | {"artifacts": [], "removed_at": result["expires_at"]}


def _figures(body: dict[str, Any]) -> figures.Figures | None:
    if State(body["document"]["status"]) in TERMINAL:
        return None
    try:
        return figures.read(body["pool"])
    except RedisError:
        return None


def _etag(body: dict[str, Any], now_true: Presence, expired: bool) -> str:
    """Version, progress and the position rounded to two digits: what makes a poll news.

    A result expires without a new version.
    """
    position = now_true.position or 0
    if position > 99:
        step = 10 ** (len(str(position)) - 2)
        position -= position % step
    reason = "expired" if expired else now_true.waiting_for or ""
    return f'W/"{body["version"]}-{now_true.progress}-{position}-{reason}"'


# --- from the table ------------------------------------------------------------------------


def with_result(tasks: QuerySet[Task]) -> QuerySet[Task]:
    """Add what a document needs: the generator's name and the artifacts."""
    stored = Prefetch(
        "artifacts", queryset=Artifact.objects.order_by("position"), to_attr="stored_artifacts"
    )
    return tasks.select_related("generator").prefetch_related(stored)


def document_of(task: Task) -> documents.Document:
    """Return the stored part of a task's document; ``task`` comes from ``with_result``."""
    artifacts: list[Artifact] = task.stored_artifacts  # type: ignore[attr-defined]
    return documents.base(task, task.generator.name, task.generator.kind, artifacts)


def store_snapshot(task_id: UUID) -> None:
    """Write the snapshot of a task as the table has it. Raises ``RedisError``."""
    task = with_result(Task.objects.filter(pk=task_id)).first()
    if task is not None:
        body = documents.snapshot(task, document_of(task))
        snapshots.write(task.pk, task.version, body, terminal=task.terminal)


def _stored(task: Task, beaten: int | None) -> bytes:
    """Store a snapshot, with the progress of the last heartbeat if Redis is silent about it."""
    document = document_of(task)
    if beaten is not None:
        document["progress"] = beaten
    body = documents.snapshot(task, document)
    try:
        snapshots.write(task.pk, task.version, body, terminal=task.terminal)
    except RedisError as error:
        logger.warning("could not store a snapshot: %s", error)
    return body


# --- terminal documents kept in this process -----------------------------------------------


class _TerminalCache:
    """The last thousand terminal snapshots of this process, each for a few seconds.

    Terminal is final, but a result may be removed: so an entry lives five seconds at most, and
    its result's expiry is checked at every hit. The owner is checked by the caller as always.
    """

    def __init__(self, size: int = 1_000, seconds: float = 5.0) -> None:
        self._size, self._seconds = size, seconds
        self._kept: OrderedDict[UUID, tuple[float, dict[str, Any]]] = OrderedDict()
        self._lock = Lock()

    def get(self, task_id: UUID) -> dict[str, Any] | None:
        """Return a body that is still good."""
        with self._lock:
            held = self._kept.get(task_id)
            if held is None:
                return None
            kept_at, body = held
            expired = body["expires"] is not None and body["expires"] <= time.time()
            if expired or time.monotonic() - kept_at > self._seconds:
                del self._kept[task_id]
                return None
            self._kept.move_to_end(task_id)
            return body

    def keep(self, task_id: UUID, body: dict[str, Any]) -> None:
        """Keep a body if its state is terminal."""
        if State(body["document"]["status"]) not in TERMINAL:
            return
        with self._lock:
            self._kept[task_id] = (time.monotonic(), body)
            self._kept.move_to_end(task_id)
            while len(self._kept) > self._size:
                self._kept.popitem(last=False)

    def forget(self, task_id: UUID) -> None:
        """Drop one body."""
        with self._lock:
            self._kept.pop(task_id, None)

    def clear(self) -> None:
        """Drop everything."""
        with self._lock:
            self._kept.clear()


_terminal = _TerminalCache()


def refresh(task_id: UUID) -> None:
    """Make readers see a changed terminal task at once: here and in Redis."""
    _terminal.forget(task_id)
    try:
        store_snapshot(task_id)
    except RedisError as error:
        logger.warning("could not store a snapshot: %s", error)


def clear_caches() -> None:
    """Drop what this process keeps (tests, and after settings changed)."""
    _terminal.clear()
