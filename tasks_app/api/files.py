"""Files: stable artifact URLs that check the owner, and the short-lived links behind them."""

from uuid import UUID

from django.http import FileResponse, HttpRequest, HttpResponse, HttpResponseBase
from django.views.decorators.csrf import csrf_exempt
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from tasks_app import conf
from tasks_app.api import problems
from tasks_app.api.users import user_id
from tasks_app.core import results
from tasks_app.models import Artifact
from tasks_app.results import links, store
from tasks_app.results.links import Link


class ArtifactFile(APIView):
    """An artifact: redirects its owner to a signed link. ``?download=1`` saves the file."""

    thumbnail = False

    def get(self, request: Request, artifact_id: UUID) -> Response:
        """Check the owner, then redirect."""
        artifact = results.own_file(artifact_id, user_id(request))
        download = request.query_params.get("download") == "1"
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
def linked_file(request: HttpRequest, token: str) -> HttpResponseBase:
    """Serve what a signed link opens; whoever holds the link may."""
    if request.method not in ("GET", "HEAD"):
        detail = "A file can only be read."
        return problems.response(405, "method_not_allowed", detail, request, Allow="GET, HEAD")
    link = links.read(token)
    artifact = results.linked_file(link.artifact_id) if link else None
    if link is None or artifact is None:
        return problems.response(404, "not_found", "This link has ended.", request)
    key = artifact.thumbnail_key if link.thumbnail else artifact.storage_key
    media_type = "image/webp" if link.thumbnail else artifact.media_type
    try:
        response = _content(key)
    except FileNotFoundError:
        return problems.response(410, "result_expired", "This file is gone.", request)
    _describe(response, artifact, media_type, link)
    return response


def _content(key: str) -> HttpResponseBase:
    """Return the bytes, or leave them to the web server where a prefix is set for it."""
    prefix = conf.get().accel_prefix
    if prefix:
        response = HttpResponse()
        response["X-Accel-Redirect"] = f"{prefix.rstrip('/')}/{key}"
        return response
    return FileResponse(store.storage().open(key, "rb"))


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
