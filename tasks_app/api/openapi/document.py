"""The whole document, and its bytes as they are served."""

import hashlib
import time
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any, Final

import orjson
from django.conf import settings

from tasks_app import conf
from tasks_app.api.openapi import callbacks, offered, operations, pieces, schemas
from tasks_app.api.openapi.pieces import Node
from tasks_app.core import offers

VERSION: Final = "1.0"
"""Of the contract below `/v1`: the second number grows when something is added."""

_DESCRIPTION: Final = """\
Slow, expensive generation of pictures and videos as tasks: submit one and get its id at once, \
poll it (or look at it in the browser), download the result.

- Authenticate with `Authorization: Bearer dk_…`; the web pages use their session and a CSRF token.
- What is not yours is 404.
- Errors are problem documents (RFC 9457) with a `code` of a closed list, also those of addresses \
that do not exist and of methods that an address does not take (405, with `Allow`).
- `HEAD` is answered wherever `GET` is, and `OPTIONS` everywhere below `/v1`.
- New members may be added to answers: ignore what you do not know.
- A submit is never answered with 409."""


def build(generators: Sequence[dict[str, Any]]) -> Node:
    """Return the document, given the documents of the generators on offer."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Darkroom",
            "version": VERSION,
            "summary": "Generation of pictures and videos as tasks.",
            "description": _DESCRIPTION,
        },
        "servers": [{"url": conf.public_url()}],
        "tags": [{"name": name, "description": said} for name, said in operations.TAGS.items()],
        "security": [{"apiKey": []}],
        "paths": operations.paths() | callbacks.paths(),
        "components": {
            "securitySchemes": _security(),
            "parameters": dict(pieces.PARAMETERS),
            "headers": dict(pieces.HEADERS),
            "responses": pieces.problem_answers(),
            "schemas": schemas.fixed() | callbacks.schemas() | offered.components(generators),
        },
    }


def _security() -> Node:
    return {
        "apiKey": {
            "type": "http",
            "scheme": "bearer",
            "bearerFormat": "dk_…",
            "description": "An API key.",
        },
        "session": {
            "type": "apiKey",
            "in": "cookie",
            "name": settings.SESSION_COOKIE_NAME,
            "description": "The session of the web pages.",
        },
        "csrf": {
            "type": "apiKey",
            "in": "header",
            "name": "X-CSRFToken",
            "description": "The CSRF token of the session, for requests that change something.",
        },
    }


@dataclass(frozen=True, slots=True)
class Served:
    """The document, its bytes and their version."""

    document: Node
    body: bytes
    etag: str


_CACHE_SECONDS: Final = 5.0
_kept: tuple[float, Served] | None = None
_lock = Lock()


def current() -> Served:
    """Return the document of now, at most a few seconds old within this process."""
    global _kept
    held = _kept
    now = time.monotonic()
    if held is not None and now - held[0] < _CACHE_SECONDS:
        return held[1]
    document = build(offers.generators())
    body = orjson.dumps(document)
    found = Served(document, body, f'"{hashlib.sha256(body).hexdigest()[:32]}"')
    with _lock:
        _kept = (now, found)
    return found


def clear_cache() -> None:
    """Forget what this process knows (tests)."""
    global _kept
    with _lock:
        _kept = None
