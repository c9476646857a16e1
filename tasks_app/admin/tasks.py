"""Tasks: a list that stays quick with millions, a page that tells all, actions for staff."""

import json
from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import redirect
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _

from tasks_app.admin import actions, searching
from tasks_app.admin.base import Base, ReadOnly
from tasks_app.admin.dress import display
from tasks_app.admin.filters import OfGenerator, Submitted
from tasks_app.lifecycle import ERROR_SENTENCES, ErrorCode
from tasks_app.models import Artifact, Attempt, Event, Task
from tasks_app.results import links
from tasks_app.results.links import Link

COLOURS = {
    "pending": "info",
    "running": "warning",
    "success": "success",
    "failed": "danger",
    "timeout": "danger",
}
_MOST_ROWS = 200
"""Events and attempts that a task's page shows: more than any task has in its life."""


@admin.register(Task)
class TaskAdmin(ReadOnly, Base[Task]):
    """Tasks, newest first."""

    list_display = ("short_id", "state_label", "generator", "owner", "created_at", "took", "error")
    list_display_links = ("short_id",)
    list_select_related = ("generator", "owner")
    list_filter = ("state", OfGenerator, Submitted)
    search_fields = ("id",)
    search_help_text = _("The beginning of a task's id (6 digits at least) or of a user's name")
    ordering = ("-id",)
    sortable_by = ()
    actions = tuple(actions.ACTIONS)
    change_form_template = "admin/tasks_app/task/change_form.html"
    fieldsets = (
        (
            None,
            {
                "fields": (
                    ("id", "state_label"),
                    ("generator", "owner"),
                    ("priority", "pool"),
                    ("created_at", "started_at"),
                    ("finished_at", "deadline_at"),
                    ("attempt_number", "failures"),
                    ("request_id", "retry_of"),
                )
            },
        ),
        (_("What was asked for"), {"fields": ("parameters", "extra")}),
        (_("Why it ended"), {"fields": ("error", "error_detail")}),
    )
    readonly_fields = ("state_label", "parameters", "extra", "error")

    # --- the list ------------------------------------------------------------------------

    @display(_("task"))
    def short_id(self, task: Task) -> str:
        """Return what tells tasks apart: the beginning of an id is its time."""
        return format_html(
            '<code title="{}">{}…{}</code>', task.pk, str(task.pk)[:8], str(task.pk)[-6:]
        )

    @display(_("state"), label=COLOURS)
    def state_label(self, task: Task) -> str:
        """Return the state."""
        return task.state

    @display(_("took"))
    def took(self, task: Task) -> str:
        """Return the seconds from the start of the last attempt to the end."""
        return _seconds(task.started_at, task.finished_at)

    @display(_("error"))
    def error(self, task: Task) -> str:
        """Return why it ended without a result."""
        if not task.error_code:
            return "–"
        code = ErrorCode(task.error_code)
        return format_html('<span title="{}">{}</span>', ERROR_SENTENCES[code], code.value)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Task], search_term: str
    ) -> tuple[QuerySet[Task], bool]:
        """Search by prefix of id or owner."""
        return searching.search(queryset, search_term, "id", "owner_id"), False

    # --- the page ------------------------------------------------------------------------

    @display(_("parameters"))
    def parameters(self, task: Task) -> str:
        """Return what was asked for."""
        return _pretty(task.params)

    @display(_("metadata"))
    def extra(self, task: Task) -> str:
        """Return the caller's own words."""
        return _pretty(task.metadata)

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Add timeline, attempts, pictures and the actions that make sense now."""
        task = self.get_object(request, object_id)
        more = _surroundings(request, task) if task is not None else {}
        page: HttpResponse = super().change_view(
            request, object_id, form_url, more | (extra_context or {})
        )
        return page

    def get_urls(self) -> list[URLPattern]:
        """Add the address that acts on one task."""
        own = path(
            "<uuid:task_id>/act/<slug:name>/",
            self.admin_site.admin_view(self.act_on_one),
            name="tasks_app_task_act",
        )
        return [own, *super().get_urls()]

    def act_on_one(self, request: HttpRequest, task_id: UUID, name: str) -> HttpResponse:
        """Act on one task, by POST only, and go back to its page."""
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        if not self.has_view_permission(request):
            raise PermissionDenied
        if name not in actions.ACTIONS or not Task.objects.filter(pk=task_id).exists():
            raise Http404
        actions.perform(request, actions.ACTIONS[name], [task_id])
        return redirect("admin:tasks_app_task_change", task_id)

    # --- actions on many -----------------------------------------------------------------

    @admin.action(description=_("Cancel"), permissions=["cancel_task"])
    def cancel_tasks(self, request: HttpRequest, queryset: QuerySet[Task]) -> None:
        """Cancel."""
        _on_many(request, "cancel_tasks", queryset)

    @admin.action(description=_("Time out now"), permissions=["time_out_task"])
    def time_out_tasks(self, request: HttpRequest, queryset: QuerySet[Task]) -> None:
        """Time out."""
        _on_many(request, "time_out_tasks", queryset)

    @admin.action(description=_("Retry as new tasks"), permissions=["retry_task"])
    def retry_tasks(self, request: HttpRequest, queryset: QuerySet[Task]) -> None:
        """Retry."""
        _on_many(request, "retry_tasks", queryset)

    @admin.action(description=_("Release slots still held"), permissions=["release_task_slots"])
    def release_slots(self, request: HttpRequest, queryset: QuerySet[Task]) -> None:
        """Release slots."""
        _on_many(request, "release_slots", queryset)

    def has_cancel_task_permission(self, request: HttpRequest) -> bool:
        """Whether this member of the staff may cancel."""
        return actions.allowed(request, actions.ACTIONS["cancel_tasks"])

    def has_time_out_task_permission(self, request: HttpRequest) -> bool:
        """Whether this member of the staff may time out."""
        return actions.allowed(request, actions.ACTIONS["time_out_tasks"])

    def has_retry_task_permission(self, request: HttpRequest) -> bool:
        """Whether this member of the staff may retry."""
        return actions.allowed(request, actions.ACTIONS["retry_tasks"])

    def has_release_task_slots_permission(self, request: HttpRequest) -> bool:
        """Whether this member of the staff may release slots."""
        return actions.allowed(request, actions.ACTIONS["release_slots"])


def _on_many(request: HttpRequest, name: str, queryset: QuerySet[Task]) -> None:
    pks = list(queryset.order_by("-pk").values_list("pk", flat=True)[: actions.MOST + 1])
    actions.perform(request, actions.ACTIONS[name], pks)


def _surroundings(request: HttpRequest, task: Task) -> dict[str, Any]:
    attempts = Attempt.objects.filter(task_id=task.pk).order_by("number")[:_MOST_ROWS]
    events = Event.objects.filter(task_id=task.pk).order_by("id")[:_MOST_ROWS]
    return {
        "timeline": [_line(event, task.created_at) for event in events],
        "attempts": [_row(attempt) for attempt in attempts],
        "pictures": _pictures(task),
        "buttons": [
            {
                "label": action.label,
                "icon": action.icon,
                "url": reverse("admin:tasks_app_task_act", args=[task.pk, action.name]),
            }
            for action in actions.ACTIONS.values()
            if actions.allowed(request, action) and action.for_ended == task.terminal
        ],
        "show_close": True,
    }


def _line(event: Event, beginning: datetime) -> dict[str, Any]:
    details = [f"{name}: {value}" for name, value in event.data.items() if value not in ("", None)]
    return {
        "kind": event.get_kind_display(),
        "at": event.at,
        "after": _seconds(beginning, event.at),
        "attempt": event.attempt_number,
        "details": details,
        "good": event.kind == "succeeded",
        "bad": event.kind in ("failed", "timed_out", "canceled"),
    }


def _row(attempt: Attempt) -> dict[str, Any]:
    return {
        "number": attempt.number,
        "worker": attempt.worker,
        "started_at": attempt.started_at,
        "heartbeat_at": attempt.heartbeat_at,
        "revoked_at": attempt.revoked_at,
        "ended_at": attempt.ended_at,
        "took": _seconds(attempt.started_at, attempt.ended_at),
        "outcome": attempt.outcome or _("still executing"),
        "error": " ".join((attempt.error_code, attempt.error_detail)).strip(),
    }


def _pictures(task: Task) -> list[dict[str, Any]]:
    """Links of their own, as the files belong to somebody else; they work for minutes."""
    rows = Artifact.objects.filter(task_id=task.pk).order_by("position")[:_MOST_ROWS]
    return [
        {
            "removed": row.removed_at,
            "thumbnail": _link(row, thumbnail=True),
            "full": _link(row, thumbnail=False),
            "width": row.width,
            "height": row.height,
            "about": f"{row.media_type}, {row.width} × {row.height}, {row.bytes // 1024} kB",
        }
        for row in rows
    ]


def _link(row: Artifact, *, thumbnail: bool) -> str:
    return reverse("file", args=[links.sign(Link(row.pk, thumbnail, download=False))])


def _seconds(begin: datetime | None, end: datetime | None) -> str:
    if begin is None or end is None:
        return "–"
    seconds = (end - begin).total_seconds()
    return f"{seconds:.1f} s" if seconds < 600 else f"{seconds / 60:.0f} min"


def _pretty(value: object) -> str:
    text = json.dumps(value, indent=2, ensure_ascii=False)
    return format_html('<pre class="whitespace-pre-wrap break-words">{}</pre>', text)
