"""Errors as RFC 9457 problem documents, for DRF's views and for everything around them."""

import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import orjson
from django.core.exceptions import BadRequest as DjangoBadRequest
from django.core.exceptions import PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse, UnreadablePostError
from django.http.multipartparser import MultiPartParserError
from redis.exceptions import RedisError
from rest_framework import exceptions
from rest_framework.response import Response

from tasks_app.api.middleware import PRIVATE, request_id
from tasks_app.core.documents import stamp
from tasks_app.core.errors import Invalid, LimitState, Refusal, TooMany, Unavailable

logger = logging.getLogger(__name__)

MEDIA_TYPE: Final = "application/problem+json"
CHALLENGE: Final = 'Bearer realm="darkroom"'

_TITLES: Final = {
    400: "Bad request",
    401: "Authentication required",
    403: "Forbidden",
    404: "Not found",
    405: "Method not allowed",
    406: "Not acceptable",
    408: "Request timeout",
    413: "Content too large",
    415: "Unsupported media type",
    416: "Range not satisfiable",
    429: "Too many requests",
    500: "Internal error",
    503: "Service unavailable",
}
_UNREADABLE: Final = (
    SuspiciousOperation,
    DjangoBadRequest,
    MultiPartParserError,
    UnreadablePostError,
)


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem document, its status and the headers that go with it."""

    status: int
    body: dict[str, Any]
    headers: dict[str, str] = field(default_factory=dict)


def problem(
    status: int,
    code: str,
    detail: str,
    request: object,
    *,
    title: str | None = None,
    headers: dict[str, str] | None = None,
    more: dict[str, Any] | None = None,
) -> Problem:
    """Return a problem; ``more`` are further members of its document."""
    body: dict[str, Any] = {
        "type": f"urn:darkroom:problem:{code}",
        "title": title or _TITLES.get(status, "Error"),
        "status": status,
        "detail": detail,
        "code": code,
        "request_id": request_id(request),
    }
    # Caches may keep a 404 or a 410 otherwise, and it may be another caller's 200.
    return Problem(status, body | (more or {}), {"Cache-Control": PRIVATE} | (headers or {}))


def response(
    status: int, code: str, detail: str, request: HttpRequest, **headers: str
) -> HttpResponse:
    """Return a problem as a plain Django response, for what happens outside of DRF."""
    return plain(problem(status, code, detail, request, headers=headers))


def plain(found: Problem) -> HttpResponse:
    """Return a problem as a plain Django response."""
    body = orjson.dumps(found.body)
    return HttpResponse(body, status=found.status, content_type=MEDIA_TYPE, headers=found.headers)


def handle(error: Exception, context: dict[str, Any]) -> Response | None:
    """DRF's exception handler: every error becomes a problem document."""
    request = getattr(context.get("request"), "_request", None)
    found = judge(error, request)
    return Response(found.body, status=found.status, headers=found.headers, content_type=MEDIA_TYPE)


def judge(error: BaseException | None, request: object) -> Problem:
    """Say what an error means to the caller; what nobody foresaw is logged and 500."""
    if isinstance(error, Refusal):
        return _refusal(error, request)
    if isinstance(error, RequestDataTooBig):
        detail = "The body is larger than this service reads."
        return problem(413, "too_large", detail, request)
    if isinstance(error, exceptions.APIException):
        return _from_drf(error, request)
    if isinstance(error, Http404):
        return problem(404, "not_found", "There is no such thing.", request)
    if isinstance(error, PermissionDenied):
        return problem(403, "forbidden", "You may not do this.", request)
    if isinstance(error, _UNREADABLE):
        return problem(400, "bad_request", "The request cannot be read.", request)
    if isinstance(error, (OperationalError, InterfaceError, RedisError)):
        # Databases come back: the caller shall, too. Other database errors are our mistakes.
        logger.error("request %s: %s: %s", request_id(request), type(error).__name__, error)
        return _refusal(Unavailable("The database is not reachable at the moment."), request)
    logger.error("request %s failed", request_id(request), exc_info=error)
    return problem(500, "internal", "Something went wrong here. Nothing was lost.", request)


def _refusal(error: Refusal, request: object) -> Problem:
    more: dict[str, Any] = {}
    headers: dict[str, str] = {}
    if isinstance(error, Invalid) and error.errors:
        more["errors"] = [
            {"pointer": one.pointer, "detail": one.detail, "code": one.code} for one in error.errors
        ]
    if isinstance(error, TooMany):
        more["limit"] = {
            "name": error.limit.name,
            "size": error.limit.limit,
            "used": error.limit.used,
            "retry_after": max(1, math.ceil(error.retry_after)),
            "resets_at": stamp(error.limit.resets_at),
        }
        headers |= limit_headers(error.limits)
    wait = getattr(error, "retry_after", None)
    if wait is not None:
        headers["Retry-After"] = str(max(1, math.ceil(wait)))
    return problem(
        error.status,
        error.code,
        error.detail,
        request,
        title=error.title,
        headers=headers,
        more=more,
    )


def limit_headers(limits: Sequence[LimitState]) -> dict[str, str]:
    """Return the ``RateLimit`` fields (IETF draft-ietf-httpapi-ratelimit-headers-10).

    The limits come with the slowest to be eased first, the fields list them the other way round.
    What counts what is open at the same time has no window, and the draft's unit for that.
    """
    states, policies = [], []
    for one in reversed(limits):
        if one.window is None:
            states.append(f'"{one.name}";r={one.remaining}')
            policies.append(f'"{one.name}";q={one.limit};qu="concurrent-requests"')
        else:
            states.append(f'"{one.name}";r={one.remaining};t={math.ceil(one.reset)}')
            policies.append(f'"{one.name}";q={one.limit};w={math.ceil(one.window)}')
    return {"RateLimit": ", ".join(states), "RateLimit-Policy": ", ".join(policies)}


# Said in our own words: DRF's are translated, and repeat what the caller sent.
_SENTENCES: Final[dict[type[exceptions.APIException], str]] = {
    exceptions.NotAuthenticated: "Send an API key as 'Authorization: Bearer dk_…', or log in.",
    exceptions.UnsupportedMediaType: "Send the body as application/json.",
    exceptions.MethodNotAllowed: "This address takes other methods: see the Allow header.",
}
_CODES: Final[dict[type[exceptions.APIException], str]] = {
    exceptions.NotAuthenticated: "not_authenticated",
    exceptions.AuthenticationFailed: "not_authenticated",
    exceptions.ParseError: "malformed",
    exceptions.UnsupportedMediaType: "unsupported_media_type",
    exceptions.MethodNotAllowed: "method_not_allowed",
    exceptions.PermissionDenied: "forbidden",
    exceptions.NotFound: "not_found",
}


def _from_drf(error: exceptions.APIException, request: object) -> Problem:
    code = _CODES.get(type(error), "error")
    headers = {"WWW-Authenticate": CHALLENGE} if code == "not_authenticated" else {}
    detail = _SENTENCES.get(type(error), str(error.detail))
    return problem(error.status_code, code, detail, request, headers=headers)
