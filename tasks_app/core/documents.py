"""A task as callers see it: the document of the API, the snapshot's body, the page's data.

``base`` is what the row says and is stored in the snapshot. ``with_presence`` adds what is
only true now (progress, position, why it waits, how long it may take) at read time.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from types import NoneType
from typing import Any, Final
from uuid import UUID

import orjson

from tasks_app import conf
from tasks_app.lifecycle import ERROR_SENTENCES, RETRYABLE_ERRORS, ErrorCode, State
from tasks_app.models import Artifact, Task

Document = dict[str, Any]
Kinds = type[Any] | tuple[type[Any], ...]

_NUMBER: Final = (int, float)
_SNAPSHOT: Final[Mapping[str, Kinds]] = {
    "version": int,
    "owner": int,
    "pool": str,
    "generator_id": str,
    "flow": str,
    "tag": _NUMBER,
    "cost": (*_NUMBER, NoneType),
    "held_until": (*_NUMBER, NoneType),
    "expires": (*_NUMBER, NoneType),
    "document": dict,
}
_DOCUMENT: Final[Mapping[str, Kinds]] = {
    "task_id": str,
    "status": str,
    "attempt": int,
    "progress": int,
    "started_at": (str, NoneType),
    "result": (dict, NoneType),
    "error": (dict, NoneType),
}
_RESULT: Final[Mapping[str, Kinds]] = {
    "artifacts": list,
    "expires_at": (str, NoneType),
    "removed_at": (str, NoneType),
}
"""What reads rely on, of a snapshot that any process wrote at any time."""

_NOT_YET: Final = {"queue_position": None, "waiting_for": None, "eta_seconds": None}


def base(task: Task, generator_name: str, kind: str, artifacts: Sequence[Artifact]) -> Document:
    """Return the document of the stable API contract, as far as the row decides it."""
    return {
        "task_id": str(task.pk),
        "status": task.state,
        "generator": generator_name,
        "kind": kind,
        "priority": task.priority,
        "params": task.params,
        "metadata": task.metadata,
        "progress": 100 if task.state == State.SUCCESS else 0,
        **_NOT_YET,
        "attempt": task.attempt_number,
        "degraded": task.degraded,
        "result": _result(task, artifacts),
        "error": _error(task),
        "retry_of": str(task.retry_of) if task.retry_of else None,
        "created_at": stamp(task.created_at),
        "started_at": stamp(task.started_at),
        "finished_at": stamp(task.finished_at),
        "deadline_at": stamp(task.deadline_at),
        "links": _links(task.pk),
    }


def snapshot(task: Task, document: Document) -> bytes:
    """Return the snapshot's body: the document and what reads need to judge and complete it."""
    expires = task.result_expires_at
    return orjson.dumps(
        {
            "version": task.version,
            "owner": task.owner_id,
            "pool": task.pool,
            "generator_id": str(task.generator_id),
            "flow": str(task.flow_id),
            "tag": task.tag,
            "cost": task.cost,
            "held_until": task.not_before.timestamp() if task.not_before else None,
            "expires": expires.timestamp() if expires else None,
            "document": document,
        }
    )


def understood(raw: bytes) -> Document | None:
    """Return the body of a snapshot; None if it is damaged, which counts as none."""
    try:
        body = orjson.loads(raw)
        document = body["document"]
        sound = _has(body, _SNAPSHOT) and _has(document, _DOCUMENT)
        if not sound or not (document["result"] is None or _has(document["result"], _RESULT)):
            return None
        State(document["status"])
        if document["started_at"] is not None:
            datetime.fromisoformat(document["started_at"])
    except (ValueError, TypeError, LookupError):
        return None
    return dict(body)


def _has(values: Mapping[str, Any], wanted: Mapping[str, Kinds]) -> bool:
    return all(isinstance(values[name], kinds) for name, kinds in wanted.items())


def stamp(moment: datetime | None) -> str | None:
    """Return an RFC 3339 UTC time with milliseconds, or None."""
    if moment is None:
        return None
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def artifact(item: Artifact) -> Document:
    """Return one artifact of a result."""
    url = f"{conf.public_url()}/v1/artifacts/{item.pk}"
    return {
        "artifact_id": str(item.pk),
        "url": url,
        "media_type": item.media_type,
        "width": item.width,
        "height": item.height,
        "duration_seconds": item.duration_seconds,
        "bytes": item.bytes,
        "sha256": item.sha256,
        "seed": item.seed,
        "thumbnail_url": f"{url}/thumbnail",
    }


def _result(task: Task, artifacts: Sequence[Artifact]) -> Document | None:
    if task.state != State.SUCCESS:
        return None
    removed = task.result_removed_at
    return {
        "artifacts": [] if removed else [artifact(item) for item in artifacts],
        "expires_at": stamp(task.result_expires_at),
        "removed_at": stamp(removed),
    }


def _error(task: Task) -> Document | None:
    if not task.error_code:
        return None
    code = ErrorCode(task.error_code)
    sentence = ERROR_SENTENCES[code]
    message = f"{sentence} {task.error_detail}".strip()
    return {"code": code.value, "message": message, "retryable": code in RETRYABLE_ERRORS}


def _links(task_id: UUID) -> Document:
    own = f"/v1/tasks/{task_id}"
    return {"self": own, "events": f"{own}/events", "retry": f"{own}/retry"}
