"""The pages: thin views that hand documents of the API's own shape to the scripts.

What a page shows first is embedded in it as JSON data, so that it is drawn without another
round trip; everything after that goes through ``/v1``.
"""

from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.templatetags.static import static
from django.urls import reverse
from django.views.decorators.cache import cache_control
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers
from django.views.i18n import JavaScriptCatalog

from tasks_app.core import documents, listing, offers, queries
from tasks_app.core.errors import NotFound
from tasks_app.core.listing import Filter
from tasks_app.lifecycle import LIVE, TERMINAL
from tasks_app.web import throttle

PAGE: Final = 24
"""Pictures of the first page: fills rows of two, three, four and six."""
MOST_LIVE: Final = 100
_ANY_TASK: Final = UUID(int=0)


@require_safe
@login_required
@ensure_csrf_cookie
def studio(request: HttpRequest) -> HttpResponse:
    """Compose, watch, and look at what was made."""
    owner_id = _owner_id(request)
    live, _ = listing.page(owner_id, Filter(states=tuple(sorted(LIVE)), limit=MOST_LIVE))
    ended, cursor = listing.page(owner_id, Filter(states=tuple(sorted(TERMINAL)), limit=PAGE))
    data = _surroundings() | {
        "live": [view.document for view in live],
        "recent": [view.document for view in ended],
        "next_cursor": str(cursor) if cursor else None,
    }
    return render(request, "web/studio.html", {"data": data})


@require_safe
@login_required
@ensure_csrf_cookie
def task(request: HttpRequest, task_id: UUID) -> HttpResponse:
    """Everything about one task."""
    try:
        view = queries.view(task_id, _owner_id(request))
    except NotFound as error:
        raise Http404 from error
    prompt = view.document["params"].get("prompt")
    title = prompt if isinstance(prompt, str) else ""
    data = _surroundings() | {"task": view.document}
    return render(request, "web/task.html", {"data": data, "title": title[:80]})


class Login(LoginView):
    """Log in, with a limit on tries."""

    template_name = "web/login.html"
    redirect_authenticated_user = True

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Count the try, then judge it."""
        wait = throttle.count(*self._who())
        if not wait:
            return super().post(request, *args, **kwargs)
        minutes = -(-wait // 60)
        response = render(request, "web/throttled.html", {"minutes": minutes}, status=429)
        response["Retry-After"] = str(wait)
        return response

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        """Start the session."""
        throttle.clear(*self._who())
        return super().form_valid(form)

    def _who(self) -> tuple[str, str]:
        return self.request.POST.get("username", ""), self.request.META.get("REMOTE_ADDR", "")


# The page names the language in the address, so the browser may keep each one for a while.
catalogue = cache_control(private=True, max_age=300)(
    vary_on_headers("Accept-Language", "Cookie")(JavaScriptCatalog.as_view(packages=["tasks_app"]))
)


@require_safe
def favicon(request: HttpRequest) -> HttpResponse:
    """Some clients ask for this address whatever the page says."""
    return redirect(static("web/favicon.svg"))


def _owner_id(request: HttpRequest) -> int:
    """Return the caller's id; ``login_required`` has made sure that there is one."""
    assert request.user.pk is not None
    return request.user.pk


def _surroundings() -> dict[str, Any]:
    """What every script needs: forms, addresses, and the clock by which it corrects its own."""
    return {
        "now": documents.stamp(datetime.now(UTC)),
        "generators": offers.generators(),
        "csrf_cookie": settings.CSRF_COOKIE_NAME,
        "urls": {
            "home": reverse("web:home"),
            "login": reverse("web:login"),
            "task": reverse("web:task", args=[_ANY_TASK]),
            "task_id": str(_ANY_TASK),
        },
    }
