"""How long a body may be, which is decided before any of it is read.

Whoever reads bodies asks here for the limit of an address. What is refused is not raised: it is
noted in the environ under ``REFUSED``, with an empty body, so that the answer is made where
answers are made (``tasks_app.api.threshold``), with a request id and in the form of its address.
"""

import io
from collections.abc import Callable, Iterable
from typing import Any, Final

from django.conf import settings

Environ = dict[str, Any]
Application = Callable[[Environ, Any], Iterable[bytes]]

REFUSED: Final = "darkroom.refused"
"""The environ's name for the status of a request whose body was refused."""

FORM: Final = 64 * 1024
"""The most in a form of a page: a name, a password, a plan. No page takes files."""

STAFF_FORM: Final = 1024 * 1024
"""The most in a form of the staff's pages, where the settings of generators are written."""


WEBHOOK: Final = 24 * 1024 * 1024
"""The most that an upstream may tell: some send the pictures themselves, in base64."""


def most(path: str) -> int:
    """Return how many bytes a body for this address may have."""
    if path.startswith("/v1/"):
        return settings.DATA_UPLOAD_MAX_MEMORY_SIZE or 0
    if path.startswith("/webhooks/"):
        return WEBHOOK
    return STAFF_FORM if path.startswith("/admin/") else FORM


def refuse(environ: Environ, status: int) -> None:
    """Leave the answer of ``status`` to the application, which gets no body."""
    environ[REFUSED] = status
    environ["CONTENT_LENGTH"] = "0"
    environ["wsgi.input"] = io.BytesIO()
    environ.pop("HTTP_TRANSFER_ENCODING", None)


def measured(application: Application) -> Application:
    """Return the application with bodies refused that say of themselves that they are too long."""

    def with_limit(environ: Environ, start_response: Any) -> Iterable[bytes]:
        length = environ.get("CONTENT_LENGTH") or "0"
        if length.isdecimal() and int(length) > most(environ.get("PATH_INFO", "")):
            refuse(environ, 413)
        return application(environ, start_response)

    return with_limit
