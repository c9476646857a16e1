"""Telling callers: the callback's row, written in the transaction of the change that it tells of.

The one caller is ``transitions.move``, so whatever ends a task (result, failure, timeout, cancel)
is told by the same lines. The body is the task's document as the API has it at this moment, and
stays so: every attempt sends these bytes.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import orjson

from tasks_app import bells, conf
from tasks_app.callbacks import outbox
from tasks_app.core import documents, queries
from tasks_app.core.clock import database_now
from tasks_app.core.seen import Seen
from tasks_app.lifecycle import CallbackEvent, State
from tasks_app.models import CallbackAddress, Task

EVENTS: Final[Mapping[State, CallbackEvent]] = {
    State.RUNNING: CallbackEvent.RUNNING,
    State.SUCCESS: CallbackEvent.SUCCESS,
    State.FAILED: CallbackEvent.FAILED,
    State.TIMEOUT: CallbackEvent.TIMEOUT,
}


def announce(tasks: Sequence[Seen], target: State) -> None:
    """Write the callbacks of tasks that become ``target``, for owners who want to be told."""
    event = EVENTS.get(target)
    urls = {} if event is None else _addresses(tasks, event)
    if event is None or not urls:
        return
    changed, now = queries.with_result(Task.objects.filter(pk__in=list(urls))), database_now()
    outbox.write_all(
        [
            outbox.Telling(
                task.owner_id, task.pk, event, urls[task.pk], body(event, _document(task), now)
            )
            for task in changed.order_by("pk")
        ]
    )
    bells.ring_on_commit(bells.CALLBACKS)


def body(event: CallbackEvent, data: Mapping[str, Any], at: datetime | None = None) -> bytes:
    """Return the bytes of a callback, as Standard Webhooks lays them out; of now by default."""
    moment = database_now() if at is None else at
    told = {"type": event.value, "timestamp": documents.stamp(moment), "data": data}
    return orjson.dumps(told)


def _addresses(tasks: Sequence[Seen], event: CallbackEvent) -> dict[UUID, str]:
    """Return where to tell: the task's address, else the account's, if it wants this event."""
    running = event is CallbackEvent.RUNNING
    own = {
        task.pk: task.callback_url
        for task in tasks
        if task.callback_url and (task.callback_running or not running)
    }
    silent = [task for task in tasks if not task.callback_url]
    if not silent:
        return own
    defaults = CallbackAddress.objects.filter(
        owner_id__in={task.owner_id for task in silent}, is_default=True
    )
    if running:
        defaults = defaults.filter(with_running=True)
    of_owner = dict(defaults.values_list("owner_id", "url"))
    return own | {task.pk: of_owner[task.owner_id] for task in silent if task.owner_id in of_owner}


def _document(task: Task) -> documents.Document:
    """Return the document with absolute links: a receiver has no address to resolve them from."""
    found = queries.document_of(task)
    public = conf.public_url()
    links = {name: f"{public}{path}" for name, path in found["links"].items()}
    return found | {"links": links}
