"""`/v1/schema` and `/v1/docs`: the API described, for programs and for people. For everybody."""

from typing import Final

from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import render
from rest_framework.request import Request
from rest_framework.views import APIView

from tasks_app.api import polling
from tasks_app.api.openapi import document, page

_CACHE: Final = "public, no-cache"


class Described(APIView):
    """What needs no caller."""

    authentication_classes = ()
    permission_classes = ()


class Schema(Described):
    """The OpenAPI document."""

    def get(self, request: Request) -> HttpResponseBase:
        """Answer with the document, or 304."""
        served = document.current()
        if polling.known(request._request, served.etag):
            response = HttpResponse(status=304)
            del response["Content-Type"]
        else:
            response = HttpResponse(served.body, content_type="application/json")
        response["ETag"] = served.etag
        response["Cache-Control"] = _CACHE
        return response


class Docs(Described):
    """The document as a page: made here, without a script, so that it works anywhere."""

    def get(self, request: Request) -> HttpResponseBase:
        """Show the page."""
        served = document.current()
        return render(request._request, "api/docs.html", {"page": page.of(served.document)})
