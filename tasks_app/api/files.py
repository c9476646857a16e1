"""Files: stable artifact URLs that check the owner, and the short-lived links behind them."""

import logging
from uuid import UUID

from django.core.files import File
from django.http import FileResponse, HttpRequest, HttpResponse, HttpResponseBase
from django.views.decorators.csrf import csrf_exempt
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from tasks_app import conf
from tasks_app.api import problems, ranges, wishes
from tasks_app.api.methods import read_only
from tasks_app.api.middleware import request_id
from tasks_app.api.users import user_id
from tasks_app.core import results
from tasks_app.models import Artifact
from tasks_app.results import links, store
from tasks_app.results.links import Link

logger = logging.getLogger(__name__)


class ArtifactFile(APIView):
    """An artifact: redirects its owner to a signed link. ``?download=1`` saves the file."""

    thumbnail = False

    def get(self, request: Request, artifact_id: UUID) -> Response:
        """Check the owner, then redirect."""
        artifact = results.own_file(artifact_id, user_id(request))
        download = wishes.download(request.query_params.get("download"))
        token = links.sign(Link(artifact.pk, self.thumbnail, download))
        # Long enough for a gallery to be looked at twice; the owner's own browser only.
        headers = {
            "Location": f"/files/{token}",
            "Cache-Control": "private, max-age=60",
            "Vary": "Cookie, Authorization",
        }
        return Response(None, status=302, headers=headers)


class ThumbnailFile(ArtifactFile):
    """An artifact's thumbnail."""

    thumbnail = True


@csrf_exempt
@read_only
def linked_file(request: HttpRequest, token: str) -> HttpResponseBase:
    """Serve what a signed link opens; whoever holds the link may."""
    link = links.read(token)
    artifact = results.linked_file(link.artifact_id) if link else None
    if link is None or artifact is None:
        return problems.response(404, "not_found", "This link has ended.", request)
    key = artifact.thumbnail_key if link.thumbnail else artifact.storage_key
    media_type = "image/webp" if link.thumbnail else artifact.media_type
    try:
        response = _content(key, request)
    except FileNotFoundError:
        return problems.response(410, "result_expired", "This file is gone.", request)
    except OSError as error:  # such as a folder of results that is closed to this process
        logger.error("request %s: %s", request_id(request), error)
        detail = "The file cannot be read at the moment."
        return problems.response(503, "unavailable", detail, request, **{"Retry-After": "5"})
    except ranges.Unsatisfiable:
        detail = "The file has no such range of bytes."
        size = f"bytes */{store.storage().size(key)}"
        return problems.response(
            416, "range_not_satisfiable", detail, request, **{"Content-Range": size}
        )
    _describe(response, artifact, media_type, link)
    return response


def _content(key: str, request: HttpRequest) -> HttpResponseBase:
    """Return the bytes, or leave them to the web server where a prefix is set for it.

    A web server knows ranges; otherwise one range is answered here, as players need it.
    """
    prefix = conf.get().accel_prefix
    if prefix:
        response = HttpResponse()
        response["X-Accel-Redirect"] = f"{prefix.rstrip('/')}/{key}"
        return response
    file = store.storage().open(key, "rb")
    # A file never changes under its link, so If-Range holds only for what we never send.
    asked = None if "If-Range" in request.headers else request.headers.get("Range")
    try:
        span = ranges.read(asked, file.size) if request.method == "GET" else None
    except ranges.Unsatisfiable:
        file.close()
        raise
    return _part(file, span) if span else _whole(file)


def _whole(file: File[bytes]) -> HttpResponseBase:
    response = FileResponse(file)
    response["Accept-Ranges"] = "bytes"
    return response


def _part(file: File[bytes], span: ranges.Span) -> HttpResponseBase:
    file.seek(span.start)
    response = FileResponse(_Part(file, span.length), status=206)
    response["Content-Length"] = str(span.length)
    response["Content-Range"] = span.header
    response["Accept-Ranges"] = "bytes"
    return response


class _Part:
    """Reads the next ``left`` bytes of a file and no more."""

    def __init__(self, file: File[bytes], left: int) -> None:
        self._file, self._left = file, left
        # A server that sends files by itself needs no more than these.
        self.name, self.span = file.name, (file.tell(), left)

    def read(self, size: int) -> bytes:
        """Return up to ``size`` bytes; none at the end of the part."""
        block: bytes = self._file.read(min(size, self._left))
        self._left -= len(block)
        return block

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _describe(response: HttpResponseBase, artifact: Artifact, media_type: str, link: Link) -> None:
    """Set headers that make a browser show the file and nothing else with it."""
    extension = store.EXTENSIONS[media_type]
    name = f"darkroom-{artifact.task_id}-{artifact.position}.{extension}"
    manner = "attachment" if link.download else "inline"
    response["Content-Type"] = media_type
    response["Content-Disposition"] = f'{manner}; filename="{name}"'
    response["X-Content-Type-Options"] = "nosniff"
    response["Content-Security-Policy"] = "default-src 'none'; sandbox"
    response["Cache-Control"] = f"private, max-age={int(conf.get().link_seconds)}, immutable"
