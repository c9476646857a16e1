"""The studio and the task page, and what no page of its own needs.

What a page shows first is embedded in it as JSON data, so that it is drawn without another
round trip; everything after that goes through ``/v1``.
"""

from datetime import datetime
from typing import Final
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBadRequest
from django.shortcuts import redirect, render
from django.templatetags.static import static
from django.urls import reverse
from django.views.decorators.cache import cache_control
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_POST, require_safe
from django.views.decorators.vary import vary_on_headers
from django.views.i18n import JavaScriptCatalog

from tasks_app.core import listing, notices, queries
from tasks_app.core.errors import NotFound
from tasks_app.core.listing import Filter
from tasks_app.lifecycle import LIVE, TERMINAL
from tasks_app.web.surroundings import owner_id, surroundings

PAGE: Final = 24
"""Pictures of the first page: fills rows of two, three, four and six."""
MOST_LIVE: Final = 100
_YEARS: Final = (1970, 9000)
"""Of moments that can be compared in any zone."""


@require_safe
@login_required
@ensure_csrf_cookie
def studio(request: HttpRequest) -> HttpResponse:
    """Compose, watch, and look at what was made."""
    owner = owner_id(request)
    live, _ = listing.page(owner, Filter(states=tuple(sorted(LIVE)), limit=MOST_LIVE))
    ended, cursor = listing.page(owner, Filter(states=tuple(sorted(TERMINAL)), limit=PAGE))
    data = surroundings(request) | {
        "live": [view.document for view in live],
        "recent": [view.document for view in ended],
        "next_cursor": str(cursor) if cursor else None,
    }
    return render(request, "web/studio.html", {"data": data})


@require_safe
@login_required
@ensure_csrf_cookie
def task(request: HttpRequest, task_id: UUID) -> HttpResponse:
    """Everything about one task, and the way to its neighbours."""
    owner = owner_id(request)
    try:
        view = queries.view(task_id, owner)
    except NotFound as error:
        raise Http404 from error
    prompt = view.document["params"].get("prompt")
    title = prompt if isinstance(prompt, str) else ""
    newer, older = (
        reverse("web:task", args=[pk]) if pk else "" for pk in listing.neighbours(task_id, owner)
    )
    context = {
        "data": surroundings(request) | {"task": view.document},
        "title": title[:80],
        "newer": newer,
        "older": older,
    }
    return render(request, "web/task.html", context)


@require_POST
@login_required
def seen(request: HttpRequest) -> HttpResponse:
    """Note that the reader has seen what ended until a moment; 204."""
    try:
        until = datetime.fromisoformat(request.POST.get("until", ""))
    except ValueError:
        return HttpResponseBadRequest()
    if until.tzinfo is None or not _YEARS[0] <= until.year < _YEARS[1]:
        return HttpResponseBadRequest()
    notices.looked_at(owner_id(request), until)
    return HttpResponse(status=204)


# The address names the language and the version of the words.
catalogue = cache_control(private=True, max_age=86_400)(
    vary_on_headers("Accept-Language", "Cookie")(JavaScriptCatalog.as_view(packages=["tasks_app"]))
)


@require_safe
def favicon(request: HttpRequest) -> HttpResponse:
    """Some clients ask for this address whatever the page says."""
    return redirect(static("web/favicon.svg"))
