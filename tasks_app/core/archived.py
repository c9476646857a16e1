"""Reading what was archived: rows of the archive as the tasks, events and files that they were.

Nothing here is saved again: what comes back are instances for reading. Whoever looks in both
places looks at the live table first: archiving moves a task in one transaction, so a task that
was not there any more is in the archive by then.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar
from uuid import UUID

from django.db import connection
from django.db.models import Model

from tasks_app.models import ArchivedTask, Artifact, Attempt, Event, Task

M = TypeVar("M", bound=Model)

_HOLDER: Final = """
SELECT id FROM tasks_app_archivedtask
WHERE jsonb_path_query_array(artifacts, '$[*].id') @> to_jsonb(%s::text)
LIMIT 1
"""


def task(task_id: UUID) -> Task | None:
    """Return an archived task as it was, with its generator; None if there is none."""
    return next(iter(tasks([task_id])), None)


def tasks(task_ids: Sequence[UUID]) -> list[Task]:
    """Return those of the tasks that are archived, with generator and ``stored_artifacts``."""
    found = ArchivedTask.objects.select_related("generator").filter(pk__in=task_ids)
    return [restored(row) for row in found.defer("events", "attempts")]


def restored(row: ArchivedTask) -> Task:
    """Return the task that an archived row was, with generator and ``stored_artifacts``."""
    own = {
        "id": row.pk,
        "owner_id": row.owner_id,
        "generator_id": row.generator_id,
        "state": row.state,
        "error_code": row.error_code,
        "created_at": row.created_at,
        "finished_at": row.finished_at,
        "params": row.params,
    }
    found = _instance(Task, row.row | own)
    found.generator = row.generator
    files = [_instance(Artifact, values) for values in row.artifacts]
    found.stored_artifacts = files  # type: ignore[attr-defined]
    return found


def events(task_id: UUID) -> list[Event]:
    """Return the history of an archived task, oldest first; nothing if it is not archived."""
    return [_instance(Event, values) for values in _of(task_id, "events")]


def attempts(task_id: UUID) -> list[Attempt]:
    """Return the attempts of an archived task, first to last."""
    return [_instance(Attempt, values) for values in _of(task_id, "attempts")]


def artifact(artifact_id: UUID) -> Artifact | None:
    """Return an artifact of an archived task, with the task: a tombstone, as its files are gone."""
    with connection.cursor() as cursor:
        cursor.execute(_HOLDER, [str(artifact_id)])
        row = cursor.fetchone()
    holder = task(row[0]) if row else None
    if holder is None:
        return None
    for found in artifacts(holder):
        if found.pk == artifact_id:
            found.task = holder
            return found
    return None


def artifacts(found: Task) -> list[Artifact]:
    """Return the artifacts of a task that came from here: tombstones, as their files are gone."""
    stored: list[Artifact] = vars(found)["stored_artifacts"]
    return stored


def _of(task_id: UUID, column: str) -> list[dict[str, Any]]:
    row = ArchivedTask.objects.filter(pk=task_id).values_list(column, flat=True).first()
    return list(row or [])


def _instance(model: type[M], values: Mapping[str, Any]) -> M:
    """Return an instance from a row's JSON; columns that this release does not know are left."""
    known = {field.attname: field for field in model._meta.concrete_fields}
    found = model(
        **{name: known[name].to_python(value) for name, value in values.items() if name in known}
    )
    found._state.adding = False
    found._state.db = "default"
    return found
