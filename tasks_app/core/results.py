"""Removing a result: the task stays a success, its files go, a tombstone says since when."""

from collections.abc import Sequence
from uuid import UUID

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now
from django.utils import timezone

from tasks_app.core import queries
from tasks_app.core.access import own_artifact, own_task
from tasks_app.core.errors import Gone, Invalid
from tasks_app.core.transitions import record
from tasks_app.lifecycle import EventKind, State
from tasks_app.models import Artifact, Task
from tasks_app.results import store


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


def delete_files(removed: Sequence[Artifact]) -> int:
    """Delete the files of removed artifacts; returns of how many they are gone.

    The rows say which files are still owed: what fails here, or is cut off, the sweep repeats.
    """
    gone = [artifact.pk for artifact in removed if store.discard([artifact])]
    return Artifact.objects.filter(pk__in=gone, files_gone_at__isnull=True).update(
        files_gone_at=Now()
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
    if artifact.removed_at is not None:
        raise Gone("This file has been removed.")
    expires = artifact.task.result_expires_at
    if expires is None or expires <= timezone.now():
        raise Gone("This result has expired.")
    return artifact
