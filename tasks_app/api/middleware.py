"""What every answer has: a request id, and below `/v1` a word to caches.

The id is the caller's, if it is harmless, or a new one.
"""

import re
from collections.abc import Callable
from typing import Final

from django.http import HttpRequest, HttpResponse

from tasks_app import logs
from tasks_app.models.ids import new_id

PRIVATE: Final = "private, no-cache"

_HARMLESS = re.compile(r"[A-Za-z0-9._-]{1,64}")


class RequestIdMiddleware:
    """Sets ``request.request_id`` and answers with ``X-Request-Id`` and ``Cache-Control``."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Name the request."""
        given = request.headers.get("X-Request-Id", "")
        name = given if _HARMLESS.fullmatch(given) else new_id().hex
        request.request_id = name  # type: ignore[attr-defined]
        with logs.about(request=name):
            response = self._get_response(request)
        response["X-Request-Id"] = name
        if request.path.startswith("/v1/"):
            response.headers.setdefault("Cache-Control", PRIVATE)
        return response


def request_id(request: object) -> str:
    """Return the request's id ("" outside of the middleware)."""
    return str(getattr(request, "request_id", ""))
