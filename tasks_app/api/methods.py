"""Plain views that can only be read say so, as DRF's do."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec

from django.http import HttpRequest, HttpResponseBase

from tasks_app.api import problems

P = ParamSpec("P")
View = Callable[Concatenate[HttpRequest, P], HttpResponseBase]


def read_only(view: View[P]) -> View[P]:
    """Answer other methods than GET and HEAD with 405."""

    @wraps(view)
    def answer(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        if request.method in ("GET", "HEAD"):
            return view(request, *args, **kwargs)
        detail = "This address can only be read."
        return problems.response(405, "method_not_allowed", detail, request, Allow="GET, HEAD")

    return answer
