"""Bodies without a length: Django reads none of a request that does not say how long it is.

Clients that stream send `Transfer-Encoding: chunked`. WSGI servers that mark the end of such a
body say so (`wsgi.input_terminated`); then Django is told the most that it may read. Nothing is
read here: a caller who has not shown a key must not hold a thread by sending slowly.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final

Environ = dict[str, Any]
Application = Callable[[Environ, Any], Iterable[bytes]]

MOST: Final = 64 * 1024 * 1024
"""More than any reader of a body takes."""


def bounded(application: Application) -> Application:
    """Return the application with every body having a length, or the most it can have."""

    def with_length(environ: Environ, start_response: Any) -> Iterable[bytes]:
        if environ.get("HTTP_TRANSFER_ENCODING") and environ.get("wsgi.input_terminated"):
            environ["CONTENT_LENGTH"] = str(MOST)
        return application(environ, start_response)

    return with_length
