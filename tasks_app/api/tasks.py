"""`/v1/tasks`: submit, read, list, cancel, retry, remove the result, read the history."""

from typing import Final
from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from tasks_app.api import problems, wishes
from tasks_app.api.middleware import request_id
from tasks_app.api.users import user_id, user_of
from tasks_app.core import (
    access,
    cancellation,
    documents,
    listing,
    queries,
    results,
    submission,
)
from tasks_app.core.queries import View
from tasks_app.core.submission import Submission

_INTERNAL: Final = frozenset({"worker", "staff"})
"""What the history says to operators only: names of hosts, and who of the staff it was."""


def _answer(view: View, status: int = 200, **headers: str) -> Response:
    if view.retry_after is not None:
        headers["Retry-After"] = str(view.retry_after)
    headers["ETag"] = view.etag
    return Response(view.document, status=status, headers=headers)


def _submitted(outcome: Submission, owner_id: int) -> Response:
    view = queries.view(outcome.task_id, owner_id)
    headers = {"Location": f"/v1/tasks/{outcome.task_id}"}
    if outcome.limits:
        headers |= problems.limit_headers(outcome.limits)
    if not outcome.reused:
        return _answer(view, 202, **headers)
    view.document["reused"] = True
    return _answer(view, 200, **headers, **{"Idempotent-Replayed": "true"})


class Tasks(APIView):
    """The collection."""

    def post(self, request: Request) -> Response:
        """Submit a task."""
        header = request.headers.get("Idempotency-Key")
        wish = wishes.wish(request.data, header, request_id(request._request))
        return _submitted(submission.submit(user_of(request), wish), user_id(request))

    def get(self, request: Request) -> Response:
        """List own tasks, newest first; or those of ``ids``."""
        wanted = wishes.listing(dict(request.query_params.lists()))
        if isinstance(wanted, list):
            found, cursor = queries.views(wanted, user_id(request)), None
        else:
            found, cursor = listing.page(user_id(request), wanted)
        hints = [view.retry_after for view in found if view.retry_after is not None]
        headers = {"Retry-After": str(min(hints))} if hints else {}
        items = [view.document for view in found]
        body = {"items": items, "next_cursor": str(cursor) if cursor else None}
        return Response(body, headers=headers)


class OneTask(APIView):
    """One task: cancel it. Reading it is ``polling.poll``, which skips DRF's machinery."""

    @property
    def allowed_methods(self) -> list[str]:
        """Return the methods of the address, not only those of this class."""
        return ["GET", "HEAD", *super().allowed_methods]

    def delete(self, request: Request, task_id: UUID) -> Response:
        """Cancel; a task that has ended stays as it is."""
        cancellation.cancel(task_id, user_id(request))
        return _answer(queries.view(task_id, user_id(request)))


class Retry(APIView):
    """Submit an ended task's request once more."""

    def post(self, request: Request, task_id: UUID) -> Response:
        """Make a new task with ``retry_of``."""
        task = access.own_task(task_id, user_id(request))
        key = wishes.retry(request.data, request.headers.get("Idempotency-Key"))
        outcome = submission.resubmit(user_of(request), task, key, request_id(request._request))
        return _submitted(outcome, user_id(request))


class Result(APIView):
    """A task's result."""

    def delete(self, request: Request, task_id: UUID) -> Response:
        """Remove the files; the task stays, with a tombstone. Repeating changes nothing."""
        results.remove_own(task_id, user_id(request))
        return _answer(queries.view(task_id, user_id(request)))


class Events(APIView):
    """A task's history."""

    def get(self, request: Request, task_id: UUID) -> Response:
        """List what happened to a task, oldest first."""
        events = access.own_events(task_id, user_id(request))
        items = [
            {
                "event_id": str(event.pk),
                "at": documents.stamp(event.at),
                "kind": event.kind,
                "attempt": event.attempt_number,
                "data": {name: one for name, one in event.data.items() if name not in _INTERNAL},
            }
            for event in events
        ]
        return Response({"items": items})
