"""`GET /v1/tasks/{id}`: the request that is made most, on a lean path.

A plain Django view: no DRF content negotiation, no user row. With an API key and a warm
snapshot it touches PostgreSQL not at all.
"""

from typing import Any
from uuid import UUID

import orjson
from django.http import HttpRequest, HttpResponse
from django.utils.decorators import method_decorator
from django.views import View
from django.views.decorators.csrf import csrf_exempt
from rest_framework.exceptions import AuthenticationFailed

from tasks_app.api import problems
from tasks_app.api.authentication import CHALLENGE, bearer
from tasks_app.api.tasks import OneTask
from tasks_app.core import queries
from tasks_app.core.errors import NotFound


@method_decorator(csrf_exempt, name="dispatch")
class TaskDispatch(View):
    """Polls take the lean path; every other method goes to the DRF view.

    Exempt from Django's CSRF check because DRF makes its own, for sessions only.
    """

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        """Choose the path."""
        if request.method in ("GET", "HEAD"):
            return poll(request, kwargs["task_id"])
        return _drf(request, task_id=kwargs["task_id"])


_drf = OneTask.as_view()


def poll(request: HttpRequest, task_id: UUID) -> HttpResponse:
    """Answer one poll: 200, 304, 401 or 404."""
    try:
        owner_id = bearer(request.headers.get("Authorization"))
    except AuthenticationFailed as error:
        return _unauthorized(request, str(error.detail))
    if owner_id is None:
        if not request.user.is_authenticated:
            return _unauthorized(request, "Send an API key, or log in.")
        owner_id = request.user.pk
    try:
        found = queries.view(task_id, owner_id)
    except NotFound as error:
        return problems.response(404, error.code, error.detail, request)
    return _answer(request, found)


def _answer(request: HttpRequest, found: queries.View) -> HttpResponse:
    fresh = found.etag in request.headers.get("If-None-Match", "")
    body = b"" if fresh else orjson.dumps(found.document)
    response = HttpResponse(body, status=304 if fresh else 200, content_type="application/json")
    response["ETag"] = found.etag
    response["Cache-Control"] = "private, no-cache"
    if found.retry_after is not None:
        response["Retry-After"] = str(found.retry_after)
    return response


def _unauthorized(request: HttpRequest, detail: str) -> HttpResponse:
    response = problems.response(401, "not_authenticated", detail, request)
    response["WWW-Authenticate"] = CHALLENGE
    return response
