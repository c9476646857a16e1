"""Errors outside of DRF's views: problem documents below `/v1`, pages elsewhere."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.views import defaults

from tasks_app.api import problems


def _for_machines(request: HttpRequest) -> bool:
    return request.path.startswith(("/v1/", "/v1", "/files/", "/healthz", "/readyz"))


def bad_request(request: HttpRequest, exception: Exception) -> Any:
    """400."""
    if _for_machines(request):
        return problems.response(400, "bad_request", "The request is not valid.", request)
    return defaults.bad_request(request, exception)


def forbidden(request: HttpRequest, exception: Exception) -> Any:
    """403."""
    if _for_machines(request):
        return problems.response(403, "forbidden", "You may not do this.", request)
    return defaults.permission_denied(request, exception)


def not_found(request: HttpRequest, exception: Exception) -> Any:
    """404."""
    if _for_machines(request):
        return problems.response(404, "not_found", "There is no such address.", request)
    return defaults.page_not_found(request, exception)


def server_error(request: HttpRequest) -> HttpResponse | Any:
    """500; in a database outage 503 is what API views answer themselves."""
    if _for_machines(request):
        return problems.response(
            500, "internal", "Something went wrong here. Nothing was lost.", request
        )
    return defaults.server_error(request)
