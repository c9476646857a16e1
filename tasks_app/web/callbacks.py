"""Callbacks: where they go, what signs them, a test, and what became of each."""

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext, ngettext
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_POST, require_safe

from tasks_app.core import callbacks
from tasks_app.core.callbacks import FAILED, Filter
from tasks_app.core.documents import Document
from tasks_app.core.errors import Invalid, NotFound, Refusal
from tasks_app.lifecycle import CallbackState
from tasks_app.web.localise import said
from tasks_app.web.surroundings import owner_id

PAGE: Final = 20
_DAYS: Final = (1, 7, 30)
"""How far back failed callbacks are delivered again at once."""


@require_safe
@login_required
def overview(request: HttpRequest) -> HttpResponse:
    """Show settings and the newest callbacks."""
    return _overview(request)


def _overview(request: HttpRequest, status: int = 200, **more: Any) -> HttpResponse:
    owner = owner_id(request)
    failed = request.GET.get("show") == "failed"
    wanted = Filter(
        states=FAILED if failed else (), before=_cursor(request.GET.get("after")), limit=PAGE
    )
    found, cursor = callbacks.page(owner, wanted)
    context = {
        "settings": _dated(callbacks.settings_of(owner)),
        "callbacks": [_dated(one) for one in found],
        "cursor": cursor,
        "failed": failed,
        "days": _DAYS,
        "url": None,
        **more,
    }
    return render(request, "web/callbacks.html", context, status=status)


def _cursor(text: str | None) -> UUID | None:
    try:
        return UUID(text) if text else None
    except ValueError:
        return None


def _dated(document: Document) -> Document:
    """Return a document with times that templates can write, and sentences in one language."""
    found: Document = {}
    for name, value in document.items():
        if isinstance(value, dict) and name not in ("payload", "links"):
            found[name] = _dated(value)
        elif isinstance(value, list):
            found[name] = [_dated(one) for one in value]
        elif isinstance(value, str) and (name == "at" or name.endswith("_at")):
            found[name] = datetime.fromisoformat(value)
        else:
            found[name] = said(value) if name == "message" else value
    return found


def _refused(request: HttpRequest, error: Refusal, place: str) -> HttpResponse:
    """Show the page again, with what is wrong beside the field."""
    sentence = error.errors[0].detail if isinstance(error, Invalid) else error.detail
    if sentence.startswith("Required"):
        sentence = gettext("Save a default address first, or give one here.")
    elif not isinstance(error, Invalid):
        sentence = gettext("You have sent as many tests as one may in a minute. Try again soon.")
    typed = request.POST.get("url", "")[:2_000]
    return _overview(request, error.status, **{f"{place}_error": said(sentence), place: typed})


@require_POST
@login_required
def save(request: HttpRequest) -> HttpResponse:
    """Set the default address."""
    url = request.POST.get("url", "").strip()
    try:
        callbacks.set_default(owner_id(request), url, running="running" in request.POST)
    except Invalid as error:
        return _refused(request, error, "url")
    if url:
        messages.success(request, gettext("Saved: tasks that name no address tell this one."))
    else:
        messages.success(request, gettext("Saved: tasks that name no address tell nobody."))
    return redirect("web:callbacks")


@require_POST
@login_required
def secret(request: HttpRequest) -> HttpResponse:
    """Make a new secret; it is in the answer to this one request and nowhere else."""
    return _overview(request, secret=callbacks.new_secret(owner_id(request)))


@require_POST
@login_required
def test(request: HttpRequest) -> HttpResponse:
    """Send a test, and go to where its outcome is shown."""
    try:
        made = callbacks.send_test(owner_id(request), request.POST.get("url", "").strip())
    except Refusal as error:
        return _refused(request, error, "test_url")
    return redirect("web:callback", made)


@require_POST
@login_required
def again(request: HttpRequest) -> HttpResponse:
    """Deliver again all that failed within some days."""
    days = request.POST.get("days", "")
    number = int(days) if days in map(str, _DAYS) else _DAYS[0]
    since = timezone.now() - timedelta(days=number)
    count = callbacks.redeliver_failed(owner_id(request), since)
    text = ngettext("%d callback is delivered again.", "%d callbacks are delivered again.", count)
    messages.success(request, text % count)
    return redirect("web:callbacks")


@require_POST
@login_required
def enable(request: HttpRequest) -> HttpResponse:
    """Use an address again that had answered that it is gone."""
    url = request.POST.get("url", "").replace("\x00", "")  # which no column can hold
    callbacks.enable(owner_id(request), url)
    messages.success(request, gettext("The address is used again."))
    return redirect("web:callbacks")


def _own(action: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Answer 404 for what is not the caller's."""

    def view(request: HttpRequest, callback_id: UUID) -> HttpResponse:
        try:
            return action(request, callback_id)
        except NotFound as error:
            raise Http404 from error

    return view


@require_safe
@login_required
@ensure_csrf_cookie
@_own
def callback(request: HttpRequest, callback_id: UUID) -> HttpResponse:
    """Show one callback: what is sent, what came back, how to verify it."""
    found = callbacks.one(callback_id, owner_id(request))
    payload = json.dumps(found["payload"], indent=2, ensure_ascii=False)
    context = {
        "callback": _dated(found),
        "payload": payload,
        "pending": found["status"] == CallbackState.PENDING,
        "is_test": found["type"] == "test",
    }
    return render(request, "web/callback.html", context)


@require_POST
@login_required
@_own
def redeliver(request: HttpRequest, callback_id: UUID) -> HttpResponse:
    """Deliver one again."""
    if callbacks.redeliver(callback_id, owner_id(request)):
        messages.success(request, gettext("It is delivered again."))
    else:
        messages.success(request, gettext("It is about to be delivered anyway."))
    return redirect("web:callback", callback_id)
