"""Errors outside of DRF's views: problem documents below `/v1`, pages elsewhere."""

import sys
from typing import Any

from django.http import HttpRequest
from django.views import csrf, defaults

from tasks_app.api import problems


def for_machines(request: HttpRequest) -> bool:
    """Say whether the address answers in problem documents."""
    path = request.path
    return path in ("/v1", "/healthz", "/readyz") or path.startswith(("/v1/", "/files/"))


def bad_request(request: HttpRequest, exception: Exception) -> Any:
    """400."""
    if for_machines(request):
        return problems.response(400, "bad_request", "The request is not valid.", request)
    return defaults.bad_request(request, exception)


def forbidden(request: HttpRequest, exception: Exception) -> Any:
    """403."""
    if for_machines(request):
        return problems.response(403, "forbidden", "You may not do this.", request)
    return defaults.permission_denied(request, exception)


def csrf_failure(request: HttpRequest, reason: str = "") -> Any:
    """403: a form without its token."""
    if for_machines(request):
        return problems.response(403, "forbidden", "The CSRF token is missing or wrong.", request)
    return csrf.csrf_failure(request, reason)


def not_found(request: HttpRequest, exception: Exception) -> Any:
    """404."""
    if for_machines(request):
        return problems.response(404, "not_found", "There is no such address.", request)
    return defaults.page_not_found(request, exception)


def server_error(request: HttpRequest) -> Any:
    """500, or 503 while a database is away."""
    if for_machines(request):
        return problems.plain(problems.judge(sys.exception(), request))
    return defaults.server_error(request)
