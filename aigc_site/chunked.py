"""Bodies without a length: Django reads none of a request that does not say how long it is.

Clients that stream send `Transfer-Encoding: chunked`. WSGI servers that mark the end of such a
body say so (`wsgi.input_terminated`); then it is read here, as far as the service would read it.
"""

import io
from collections.abc import Callable, Iterable
from typing import Any

from django.conf import settings

Environ = dict[str, Any]
Application = Callable[[Environ, Any], Iterable[bytes]]


def measured(application: Application) -> Application:
    """Return the application with every body having a length."""

    def with_length(environ: Environ, start_response: Any) -> Iterable[bytes]:
        if _endless(environ):
            body = _read(environ["wsgi.input"], settings.DATA_UPLOAD_MAX_MEMORY_SIZE + 1)
            environ["wsgi.input"] = io.BytesIO(body)
            environ["CONTENT_LENGTH"] = str(len(body))
        return application(environ, start_response)

    return with_length


def _endless(environ: Environ) -> bool:
    coding = environ.get("HTTP_TRANSFER_ENCODING", "")
    return bool(coding) and bool(environ.get("wsgi.input_terminated"))


def _read(stream: Any, limit: int) -> bytes:
    """Read up to ``limit`` bytes; a server may return fewer than it was asked for."""
    parts: list[bytes] = []
    left = limit
    while left > 0 and (part := stream.read(left)):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)
