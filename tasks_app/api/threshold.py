"""What no view could make sense of is answered here, before sessions and forms are looked at.

Databases cannot store NUL, and refuse to look for it; forms are read in the encoding that the
caller names, and Python knows some that read no text at all.
"""

from collections.abc import Callable
from typing import Final

from django.core.exceptions import BadRequest
from django.core.files.uploadedfile import UploadedFile
from django.core.files.uploadhandler import FileUploadHandler
from django.http import HttpRequest, HttpResponse
from django.http.multipartparser import MultiPartParserError

from aigc_site.bodies import REFUSED
from tasks_app.api import errors, problems

_SENTENCES: Final = {
    408: "The body did not come in time.",
    413: "The body is larger than this service reads.",
    503: "Too many bodies are on their way at the moment. Try again.",
}
_FORMS: Final = ("application/x-www-form-urlencoded", "multipart/form-data")


class ThresholdMiddleware:
    """Refuses bodies that were not read, NUL characters, and forms that are not in UTF-8."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer, if the request makes sense."""
        status = request.META.get(REFUSED)
        if status:
            return _refused(request, status)
        if _has_nul(request) or _odd_form(request):
            answer: HttpResponse = errors.bad_request(request, BadRequest())
            return answer
        return self._get_response(request)


def _refused(request: HttpRequest, status: int) -> HttpResponse:
    sentence = _SENTENCES[status]
    if not errors.for_machines(request):
        answer = HttpResponse(sentence, status=status, content_type="text/plain; charset=utf-8")
    elif status == 408:
        answer = problems.response(408, "too_slow", sentence, request)
    elif status == 413:
        answer = problems.response(413, "too_large", sentence, request)
    else:
        answer = problems.response(503, "unavailable", sentence, request)
    if status == 503:
        answer["Retry-After"] = "5"
    return answer


def _has_nul(request: HttpRequest) -> bool:
    if any("\0" in name or "\0" in value for name, value in request.COOKIES.items()):
        return True
    if errors.for_machines(request):
        return False  # the API names the parameter
    query = request.META.get("QUERY_STRING", "")
    return "%00" in query or "\0" in query or "\0" in request.path_info


def _odd_form(request: HttpRequest) -> bool:
    """Say whether a form names another encoding; elsewhere the encoding is set right."""
    named = (request.content_params or {}).get("charset", "")
    if not named or named.strip("\"'").lower() in ("utf-8", "utf8"):
        return False
    if request.content_type in _FORMS:
        return True
    request.encoding = "utf-8"  # Django would read the query in it
    return False


class NoFiles(FileUploadHandler):
    """Stops at the first file of a form: no page takes any, and none shall come to the disk."""

    def new_file(self, *_args: object, **_named: object) -> None:
        """Raises ``MultiPartParserError``, which is a 400."""
        raise MultiPartParserError("No page takes files.")

    def receive_data_chunk(self, raw_data: bytes, start: int) -> bytes | None:
        """Not reached."""
        return None

    def file_complete(self, file_size: int) -> "UploadedFile[bytes] | None":
        """Not reached."""
        return None
