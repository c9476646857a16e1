"""The account: limits and their use."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from tasks_app.core import callbacks, credentials, offers
from tasks_app.lifecycle import Priority
from tasks_app.web.surroundings import owner_id


@require_safe
@login_required
def account(request: HttpRequest) -> HttpResponse:
    """Show limits and use, and the way to keys and password."""
    assert request.user.is_authenticated
    found = offers.account(request.user)
    words = {
        Priority.HIGH.value: gettext("high"),
        Priority.NORMAL.value: gettext("normal"),
        Priority.LOW.value: gettext("low"),
    }
    context = {
        "account": found,
        "meters": _meters(found["limits"]),
        "priorities": [words[name] for name in found["limits"]["priorities"]],
        "submit": found["limits"]["submit"],
        "usable_keys": credentials.usable(owner_id(request)),
        "disabled_addresses": callbacks.disabled_count(owner_id(request)),
    }
    return render(request, "web/account.html", context)


def _meters(limits: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return what is counted: how much of how many, and in how many seconds it begins anew."""
    names = {
        "open": gettext("Open tasks"),
        "running": gettext("Running at once"),
        "day": gettext("Tasks today"),
        "month": gettext("Tasks this month"),
    }
    return [{"name": said, **limits[name], **_reset(limits[name])} for name, said in names.items()]


def _reset(limit: Mapping[str, Any]) -> dict[str, Any]:
    size = limit["limit"]
    found = {"full": size is not None and limit["used"] >= size, "seconds": None}
    if "resets_at" in limit and size is not None:
        left = datetime.fromisoformat(limit["resets_at"]) - datetime.now(UTC)
        found["seconds"] = max(1, round(left.total_seconds()))
    return found
