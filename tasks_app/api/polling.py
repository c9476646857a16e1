"""`GET /v1/tasks/{id}`: the request that is made most, on a lean path.

A plain Django view: no DRF content negotiation, no user row. With an API key and a warm
snapshot it touches PostgreSQL not at all.
"""

from typing import Any
from uuid import UUID

import orjson
from django.http import HttpRequest, HttpResponse
from django.utils.decorators import method_decorator
from django.utils.http import parse_etags
from django.views import View
from django.views.decorators.csrf import csrf_exempt
from rest_framework.exceptions import NotAuthenticated

from tasks_app.api import novelty, problems
from tasks_app.api.authentication import bearer
from tasks_app.api.tasks import OneTask
from tasks_app.core import queries


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
    """Answer one poll: 200, 304, or a problem, whatever went wrong (as DRF's views do)."""
    try:
        found = queries.view(task_id, _caller(request))
        answer = _answer(request, found)
        novelty.note(task_id, found.etag, not_modified=answer.status_code == 304)
        return answer
    except Exception as error:
        novelty.refused()
        return problems.plain(problems.judge(error, request))


def _caller(request: HttpRequest) -> int:
    """Return the caller's id, by key or session. Raises DRF's authentication errors."""
    owner_id = bearer(request.headers.get("Authorization"))
    if owner_id is not None:
        return owner_id
    if not request.user.is_authenticated:
        raise NotAuthenticated
    return int(request.user.pk)


def _answer(request: HttpRequest, found: queries.View) -> HttpResponse:
    if known(request, found.etag):
        response = HttpResponse(status=304)
        del response["Content-Type"]
    else:
        response = HttpResponse(orjson.dumps(found.document), content_type="application/json")
    response["ETag"] = found.etag
    if found.retry_after is not None:
        response["Retry-After"] = str(found.retry_after)
    return response


def known(request: HttpRequest, etag: str) -> bool:
    """Whether the caller has this version already: the weak comparison of RFC 9110, 13.1.2."""
    header = request.headers.get("If-None-Match")
    if header is None:
        return False
    tags = parse_etags(header)
    return tags == ["*"] or etag.removeprefix("W/") in [tag.removeprefix("W/") for tag in tags]
