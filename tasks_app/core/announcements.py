"""Telling callers: the callback's row, written in the transaction of the change that it tells of.

The one caller is ``transitions.move``, so whatever ends a task (result, failure, timeout, cancel)
is told by the same lines. The body is the task's document as the API has it at this moment, and
stays so: every attempt sends these bytes.
"""

from collections.abc import Mapping
from typing import Any, Final

import orjson

from tasks_app import bells, conf
from tasks_app.callbacks import outbox
from tasks_app.core import documents, queries
from tasks_app.core.clock import database_now
from tasks_app.lifecycle import CallbackEvent, State
from tasks_app.models import CallbackAddress, Task

EVENTS: Final[Mapping[State, CallbackEvent]] = {
    State.RUNNING: CallbackEvent.RUNNING,
    State.SUCCESS: CallbackEvent.SUCCESS,
    State.FAILED: CallbackEvent.FAILED,
    State.TIMEOUT: CallbackEvent.TIMEOUT,
}


def announce(task: Task, target: State) -> None:
    """Write the callback of a task that becomes ``target``, if its owner wants to be told."""
    event = EVENTS.get(target)
    url = None if event is None else _address(task, event)
    if event is None or url is None:
        return
    changed = queries.with_result(Task.objects.filter(pk=task.pk)).get()
    outbox.write(task.owner_id, task.pk, event, url, body(event, _document(changed)))
    bells.ring_on_commit(bells.CALLBACKS)


def body(event: CallbackEvent, data: Mapping[str, Any]) -> bytes:
    """Return the bytes of a callback, as Standard Webhooks lays them out."""
    told = {"type": event.value, "timestamp": documents.stamp(database_now()), "data": data}
    return orjson.dumps(told)


def _address(task: Task, event: CallbackEvent) -> str | None:
    """Return where to tell: the task's address, else the account's, if it wants this event."""
    if task.callback_url:
        wanted = event is not CallbackEvent.RUNNING or task.callback_running
        return task.callback_url if wanted else None
    defaults = CallbackAddress.objects.filter(owner_id=task.owner_id, is_default=True)
    if event is CallbackEvent.RUNNING:
        defaults = defaults.filter(with_running=True)
    return defaults.values_list("url", flat=True).first()


def _document(task: Task) -> documents.Document:
    """Return the document with absolute links: a receiver has no address to resolve them from."""
    found = queries.document_of(task)
    public = conf.public_url()
    links = {name: f"{public}{path}" for name, path in found["links"].items()}
    return found | {"links": links}
