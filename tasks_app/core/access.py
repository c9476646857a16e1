"""The one door to objects: what is not yours does not exist. Archived tasks still do."""

from uuid import UUID

from tasks_app.core import archived
from tasks_app.core.errors import NotFound
from tasks_app.models import ApiKey, Artifact, Event, Task


def own_task(task_id: UUID, owner_id: int) -> Task:
    """Return a task of this owner, live or archived. Raises ``NotFound``."""
    found = Task.objects.select_related("generator").filter(pk=task_id, owner_id=owner_id).first()
    found = found or archived.task(task_id)
    if found is None or found.owner_id != owner_id:
        raise NotFound("There is no such task.")
    return found


def own_artifact(artifact_id: UUID, owner_id: int) -> Artifact:
    """Return an artifact of a task of this owner. Raises ``NotFound``."""
    found = (
        Artifact.objects.select_related("task")
        .filter(pk=artifact_id, task__owner_id=owner_id)
        .first()
    )
    found = found or archived.artifact(artifact_id)
    if found is None or found.task.owner_id != owner_id:
        raise NotFound("There is no such file.")
    return found


def own_key(key_id: UUID, owner_id: int) -> ApiKey:
    """Return an API key of this owner. Raises ``NotFound``."""
    found = ApiKey.objects.filter(pk=key_id, user_id=owner_id).first()
    if found is None:
        raise NotFound("There is no such key.")
    return found


def own_events(task_id: UUID, owner_id: int) -> list[Event]:
    """Return the history of a task of this owner, oldest first. Raises ``NotFound``."""
    task = own_task(task_id, owner_id)
    found = list(Event.objects.filter(task_id=task.pk).order_by("id")[:500])
    return found or archived.events(task.pk)[:500]
