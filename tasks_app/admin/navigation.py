"""The sidebar of the staff's pages."""

from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

_Item = tuple[Promise, str, str, str | None]
"""A word, an icon, the name of an address, the permission that it takes."""
_Group = tuple[Promise | None, list[_Item]]


def groups(request: HttpRequest) -> list[dict[str, Any]]:
    """Return what this member of the staff may see, in groups."""
    everything: list[_Group] = [
        (
            None,
            [
                (_("Overview"), "monitoring", "index", None),
                (_("Tasks"), "photo_library", "tasks_app_task_changelist", "tasks_app.view_task"),
                (
                    _("Archive"),
                    "inventory_2",
                    "tasks_app_archivedtask_changelist",
                    "tasks_app.view_task",
                ),
                (_("Events"), "history", "tasks_app_event_changelist", "tasks_app.view_event"),
            ],
        ),
        (
            _("What is offered"),
            [
                (
                    _("Generators"),
                    "brush",
                    "tasks_app_generator_changelist",
                    "tasks_app.view_generator",
                ),
                (_("Plans"), "layers", "tasks_app_plan_changelist", "tasks_app.view_plan"),
                (
                    _("Plans of groups"),
                    "groups",
                    "tasks_app_groupplan_changelist",
                    "tasks_app.view_groupplan",
                ),
            ],
        ),
        (
            _("People"),
            [
                (_("Users"), "person", "auth_user_changelist", "auth.view_user"),
                (_("Accounts"), "speed", "tasks_app_account_changelist", "tasks_app.view_account"),
                (_("API keys"), "key", "tasks_app_apikey_changelist", "tasks_app.view_apikey"),
                (_("Groups"), "group", "auth_group_changelist", "auth.view_group"),
            ],
        ),
        (
            _("Callbacks"),
            [
                (
                    _("Callbacks"),
                    "webhook",
                    "tasks_app_callback_changelist",
                    "tasks_app.view_callback",
                ),
                (
                    _("Callback addresses"),
                    "link",
                    "tasks_app_callbackaddress_changelist",
                    "tasks_app.view_callbackaddress",
                ),
            ],
        ),
    ]
    found = []
    for title, items in everything:
        seen = [_item(*item[:3]) for item in items if _may(request, item[3])]
        if seen:
            found.append({"title": title, "separator": title is not None, "items": seen})
    return found


def _item(title: Promise, icon: str, name: str) -> dict[str, Any]:
    return {"title": title, "icon": icon, "link": reverse(f"admin:{name}")}


def _may(request: HttpRequest, permission: str | None) -> bool:
    if permission is None:
        return True
    return request.user.has_perm(permission) or request.user.has_perm(
        permission.replace("view_", "change_")
    )
