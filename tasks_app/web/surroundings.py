"""What pages with scripts have in common: the reader, forms, addresses, words and a clock."""

from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse
from django.utils.functional import SimpleLazyObject

from tasks_app.core import documents, notices, offers
from tasks_app.core.notices import News
from tasks_app.web import localise

_ANY_TASK: Final = UUID(int=0)


def owner_id(request: HttpRequest) -> int:
    """Return the caller's id; ``login_required`` has made sure that there is one."""
    assert request.user.pk is not None
    return request.user.pk


def surroundings(request: HttpRequest) -> dict[str, Any]:
    """Return what every script needs: the generators are those that the reader may choose."""
    assert request.user.is_authenticated
    return {
        "now": documents.stamp(datetime.now(UTC)),
        "generators": [localise.generator(one) for one in offers.generators(request.user)],
        "errors": localise.errors(),
        "csrf_cookie": settings.CSRF_COOKIE_NAME,
        "urls": {
            "home": reverse("web:home"),
            "gallery": reverse("web:gallery"),
            "login": reverse("web:login"),
            "seen": reverse("web:seen"),
            "task": reverse("web:task", args=[_ANY_TASK]),
            "task_id": str(_ANY_TASK),
        },
    }


def header(request: HttpRequest) -> dict[str, Any]:
    """Context of every page: what is news to the reader, and the version of static files.

    The news are asked for when a page shows them, so that the admin's do not.
    """
    return {"news": SimpleLazyObject(lambda: _news(request)), "assets": settings.STATIC_URL}


def _news(request: HttpRequest) -> dict[str, Any]:
    user = getattr(request, "user", None)
    pk = getattr(user, "pk", None)
    found = notices.of(pk) if pk is not None else News(0, None, None)
    return {
        "count": found.count,
        "seen_at": documents.stamp(found.seen_at) or "",
        "asked_at": documents.stamp(found.asked_at) or "",
    }
