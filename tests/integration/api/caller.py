"""Calling the API as one user does, through the site's addresses and middleware."""

import json
from typing import Any

from django.test import Client

from tasks_app.core import outcomes
from tasks_app.generators.base import Output
from tasks_app.models import Task
from tasks_app.results import store
from tests.artists import picture
from tests.integration.helpers import claimed, submit

VALID: dict[str, Any] = {"generator": "sleeper", "params": {"prompt": "a picture"}}
MEDIA_TYPE = "application/problem+json"


class Caller:
    """A client with an API key, or without one. Server errors are answers, as for any client."""

    def __init__(self, key: str | None = None) -> None:
        self.client = Client(enforce_csrf_checks=True, raise_request_exception=False)
        self.headers = {"Authorization": f"Bearer {key}"} if key else {}

    def __call__(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        content_type: str = "application/json",
        **headers: str,
    ) -> Any:
        """Send one request; ``Idempotency_Key="k"`` sets the header ``Idempotency-Key``."""
        raw = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body)
        sent = self.headers | {name.replace("_", "-"): value for name, value in headers.items()}
        return self.client.generic(method, path, raw, content_type, headers=sent)

    def get(self, path: str, **headers: str) -> Any:
        """GET."""
        return self("GET", path, **headers)

    def submit(self, body: Any = None, **headers: str) -> Any:
        """Submit a task."""
        return self("POST", "/v1/tasks", VALID if body is None else body, **headers)


def problem(
    answer: Any, status: int, code: str | None = None, pointer: str | None = None
) -> dict[str, Any]:
    """Check that an answer is this problem, whole and in the right form; returns the document."""
    assert answer.status_code == status, (answer.status_code, answer.content[:500])
    assert answer["Content-Type"] == MEDIA_TYPE
    found: dict[str, Any] = json.loads(answer.content)
    assert {"type", "title", "status", "detail", "code", "request_id"} <= set(found)
    assert found["status"] == status
    assert found["type"] == f"urn:darkroom:problem:{found['code']}"
    assert found["detail"] and found["title"]
    assert found["request_id"] == answer["X-Request-Id"]
    assert "private" in answer["Cache-Control"]
    if code is not None:
        assert found["code"] == code
    if pointer is not None:
        assert pointer in [error["pointer"] for error in found["errors"]], found["errors"]
        assert all(error["detail"] and error["code"] for error in found["errors"])
    return found


def finished(user: Any) -> Task:
    """Return a task of this user that ended in success, with a stored picture.

    Needs the fixtures ``sleeper`` and ``open_slots``.
    """
    task = submit(user)
    attempt = claimed().attempt
    assert attempt.task_id == task.pk
    stored = store.save(task.pk, attempt.number, 0, Output(picture(), "image/png"))
    assert outcomes.succeeded(attempt, [stored])
    return Task.objects.get(pk=task.pk)
