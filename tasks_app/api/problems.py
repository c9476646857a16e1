"""Errors as RFC 9457 problem documents, for DRF's views and for everything around them."""

import logging
import math
from typing import Any

import orjson
from django.core.exceptions import PermissionDenied, RequestDataTooBig
from django.db import DatabaseError, InterfaceError
from django.http import Http404, HttpRequest, HttpResponse
from redis.exceptions import RedisError
from rest_framework import exceptions
from rest_framework.response import Response

from tasks_app.api.middleware import request_id
from tasks_app.core.errors import Invalid, LimitState, Refusal, TooMany, Unavailable

logger = logging.getLogger(__name__)

MEDIA_TYPE = "application/problem+json"

_TITLES = {
    400: "Bad request",
    401: "Authentication required",
    403: "Forbidden",
    404: "Not found",
    405: "Method not allowed",
    406: "Not acceptable",
    413: "Content too large",
    415: "Unsupported media type",
    429: "Too many requests",
    500: "Internal error",
    503: "Service unavailable",
}


def document(
    status: int,
    code: str,
    detail: str,
    *,
    request: object = None,
    title: str | None = None,
    errors: list[dict[str, str]] | None = None,
    **more: Any,
) -> dict[str, Any]:
    """Return a problem document."""
    body: dict[str, Any] = {
        "type": f"urn:darkroom:problem:{code}",
        "title": title or _TITLES.get(status, "Error"),
        "status": status,
        "detail": detail,
        "code": code,
        "request_id": request_id(request),
    }
    if errors:
        body["errors"] = errors
    return body | more


def response(status: int, code: str, detail: str, request: HttpRequest) -> HttpResponse:
    """Return a problem as a plain Django response, for what happens outside of DRF."""
    body = document(status, code, detail, request=request)
    return HttpResponse(orjson.dumps(body), status=status, content_type=MEDIA_TYPE)


def handle(error: Exception, context: dict[str, Any]) -> Response | None:
    """DRF's exception handler: every error becomes a problem document."""
    request = getattr(context.get("request"), "_request", None)
    if isinstance(error, Refusal):
        return _refusal(error, request)
    if isinstance(error, RequestDataTooBig):
        return _answer(413, "too_large", "The body is larger than this service reads.", request)
    if isinstance(error, exceptions.APIException):
        return _from_drf(error, request)
    if isinstance(error, Http404):
        return _answer(404, "not_found", "There is no such thing.", request)
    if isinstance(error, PermissionDenied):
        return _answer(403, "forbidden", "You may not do this.", request)
    if isinstance(error, (DatabaseError, InterfaceError, RedisError)):
        return _storage_away(error, request)
    logger.error("request %s failed", request_id(request), exc_info=error)
    return _answer(500, "internal", "Something went wrong here. Nothing was lost.", request)


def _storage_away(error: Exception, request: object) -> Response:
    """Databases come back: the caller shall, too."""
    logger.error("request %s: %s: %s", request_id(request), type(error).__name__, error)
    return _refusal(Unavailable("The database is not reachable at the moment."), request)


def _refusal(error: Refusal, request: object) -> Response:
    errors = None
    if isinstance(error, Invalid) and error.errors:
        errors = [
            {"pointer": one.pointer, "detail": one.detail, "code": one.code} for one in error.errors
        ]
    more: dict[str, Any] = {}
    headers: dict[str, str] = {}
    if isinstance(error, TooMany):
        more = {"limit": {"name": error.limit.name, "size": error.limit.limit}}
        headers = limit_headers(error.limit)
    wait = getattr(error, "retry_after", None)
    if wait is not None:
        headers["Retry-After"] = str(max(1, math.ceil(wait)))
    body = document(
        error.status,
        error.code,
        error.detail,
        request=request,
        title=error.title,
        errors=errors,
        **more,
    )
    return Response(body, status=error.status, headers=headers, content_type=MEDIA_TYPE)


def limit_headers(limit: LimitState) -> dict[str, str]:
    """Return the ``RateLimit`` fields (IETF draft-ietf-httpapi-ratelimit-headers)."""
    window = f";w={math.ceil(limit.window)}" if limit.window else ""
    return {
        "RateLimit": f'"{limit.name}";r={limit.remaining};t={math.ceil(limit.reset)}',
        "RateLimit-Policy": f'"{limit.name}";q={limit.limit}{window}',
    }


_CODES = {
    exceptions.NotAuthenticated: "not_authenticated",
    exceptions.AuthenticationFailed: "not_authenticated",
    exceptions.ParseError: "malformed",
    exceptions.UnsupportedMediaType: "unsupported_media_type",
    exceptions.MethodNotAllowed: "method_not_allowed",
    exceptions.NotAcceptable: "not_acceptable",
    exceptions.PermissionDenied: "forbidden",
    exceptions.NotFound: "not_found",
}


def _from_drf(error: exceptions.APIException, request: object) -> Response:
    code = _CODES.get(type(error), "error")
    headers: dict[str, str] = {}
    challenge = getattr(error, "auth_header", None)
    if challenge:
        headers["WWW-Authenticate"] = challenge
    return _answer(error.status_code, code, str(error.detail), request, headers)


def _answer(
    status: int,
    code: str,
    detail: str,
    request: object,
    headers: dict[str, str] | None = None,
) -> Response:
    body = document(status, code, detail, request=request)
    return Response(body, status=status, headers=headers, content_type=MEDIA_TYPE)
