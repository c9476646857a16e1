"""Removing a result: the task stays a success, its files go, a tombstone says since when."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.db import transaction
from django.db.models import F, QuerySet
from django.db.models.functions import Coalesce, Least, Now
from django.utils import timezone

from tasks_app.core import queries
from tasks_app.core.access import own_artifact, own_task
from tasks_app.core.errors import Gone, Invalid
from tasks_app.core.transitions import record
from tasks_app.lifecycle import EventKind, State
from tasks_app.models import Artifact, Task
from tasks_app.results import store

_LEFT_ALONE: Final = timedelta(seconds=60)
"""How long files are left to whoever is removing them, before they count as owed."""
_FIRST_RETRY: Final = 60.0
_LAST_RETRY: Final = 6 * 3_600.0
_MOST_TRIES: Final = 1_000


def remove_own(task_id: UUID, owner_id: int) -> bool:
    """Remove the result of an owner's task; False when it was removed before.

    Raises ``NotFound``, and ``Invalid`` for a task that has no result.
    """
    task = own_task(task_id, owner_id)
    if task.state != State.SUCCESS:
        raise Invalid(detail="The task has no result.", code="no_result")
    if remove(task, "owner"):
        return True
    queries.refresh(task.pk)  # another process removed it: this one shall not answer otherwise
    return False


def remove(task: Task, by: str) -> bool:
    """Remove a result: first the rows, then the files, so that no row names a missing file."""
    with transaction.atomic():
        rows = Task.objects.filter(pk=task.pk, result_removed_at__isnull=True).update(
            result_removed_at=Now(), version=F("version") + 1
        )
        if rows == 0:
            return False
        Artifact.objects.filter(task_id=task.pk).update(removed_at=Now())
        record(task, EventKind.RESULT_REMOVED, task.attempt_number, {"by": by})
    queries.refresh(task.pk)
    delete_files(list(Artifact.objects.filter(task_id=task.pk)))
    return True


def expired(before: datetime) -> QuerySet[Task]:
    """Return tasks whose result has expired by then and is still kept, by an index of those."""
    return Task.objects.filter(
        state=State.SUCCESS.value,
        result_expires_at__isnull=False,
        result_expires_at__lte=before,
        result_removed_at__isnull=True,
    )


def expire(before: datetime, number: int) -> tuple[int, list[Artifact]]:
    """Remove up to so many expired results; returns how many, and the files that have to go.

    The tombstone has the moment of expiry, so that readers, who judge by the expiry themselves,
    are told the very same before and after: neither version nor snapshot has to change. Results
    that somebody else has locked are left to them.
    """
    with transaction.atomic():
        rows = expired(before).select_for_update(skip_locked=True).defer("params", "metadata")
        tasks = list(rows.order_by("result_expires_at")[:number])
        pks = [task.pk for task in tasks]
        if not pks:
            return 0, []
        Task.objects.filter(pk__in=pks).update(result_removed_at=F("result_expires_at"))
        Artifact.objects.filter(task_id__in=pks, removed_at__isnull=True).update(removed_at=Now())
        for task in tasks:
            record(task, EventKind.RESULT_REMOVED, task.attempt_number, {"by": "expiry"})
    return len(pks), list(Artifact.objects.filter(task_id__in=pks, files_gone_at__isnull=True))


def owed(now: datetime) -> QuerySet[Artifact]:
    """Return removed artifacts whose files are due to be deleted, the longest due first."""
    due = Artifact.objects.annotate(due=Coalesce("files_due_at", "removed_at"))
    return due.filter(
        removed_at__isnull=False, files_gone_at__isnull=True, due__lte=now - _LEFT_ALONE
    ).order_by("due")


def delete_files(removed: Sequence[Artifact]) -> int:
    """Delete the files of removed artifacts; returns of how many they are gone.

    The rows say which files are still owed: what is cut off here, the sweep repeats at once,
    what the storage refuses after 1, 2, 4 … minutes, at most 6 hours. Never within a transaction.
    """
    gone = {artifact.pk for artifact in removed if store.discard([artifact])}
    for artifact in removed:
        if artifact.pk not in gone:
            _try_later(artifact)
    store.tidy(artifact.task_id for artifact in removed)
    return Artifact.objects.filter(pk__in=gone, files_gone_at__isnull=True).update(
        files_gone_at=Now()
    )


def _try_later(artifact: Artifact) -> None:
    pause = min(_FIRST_RETRY * 2 ** min(artifact.files_tries, 20), _LAST_RETRY)
    Artifact.objects.filter(pk=artifact.pk, files_gone_at__isnull=True).update(
        files_due_at=Now() + timedelta(seconds=pause) - _LEFT_ALONE,
        files_tries=Least(F("files_tries") + 1, _MOST_TRIES),
    )


def own_file(artifact_id: UUID, owner_id: int) -> Artifact:
    """Return an artifact that can be served. Raises ``NotFound``, or ``Gone`` if removed."""
    artifact = own_artifact(artifact_id, owner_id)
    return _present(artifact)


def linked_file(artifact_id: UUID) -> Artifact | None:
    """Return the artifact of a signed link, if it is still there."""
    artifact = Artifact.objects.select_related("task").filter(pk=artifact_id).first()
    try:
        return _present(artifact) if artifact else None
    except Gone:
        return None


def _present(artifact: Artifact) -> Artifact:
    expires = artifact.task.result_expires_at
    if expires is None or expires <= timezone.now():
        raise Gone("This result has expired.")
    if artifact.removed_at is not None:
        raise Gone("This file has been removed.")
    return artifact
