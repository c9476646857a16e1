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
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _

from tasks_app.admin import actions, searching, standing, words
from tasks_app.admin.base import Base, ReadOnly
from tasks_app.admin.dress import coloured, display
from tasks_app.admin.filters import InState, OfGenerator, Submitted
from tasks_app.core import archived
from tasks_app.lifecycle import EventKind
from tasks_app.models import ArchivedTask, Artifact, Attempt, Event, Task
from tasks_app.results import links
from tasks_app.results.links import Link

_MOST_ROWS = 200
"""Events and attempts that a task's page shows: more than any task has in its life."""


@admin.register(Task)
class TaskAdmin(ReadOnly, Base[Task]):
    """Tasks, newest first."""

    list_display = (
        "short_id",
        "state_label",
        "prompt",
        "offered_as",
        "user",
        "submitted",
        "took",
        "error",
    )
    list_display_links = ("short_id",)
    list_select_related = ("generator", "owner")
    list_filter = (InState, OfGenerator, Submitted)
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
                    ("task_id", "state_now"),
                    ("generator", "owner"),
                    ("urgency", "pool"),
                    ("created_at", "started_at"),
                    ("finished_at", "deadline"),
                    ("attempt_number", "failed_attempts"),
                    ("asked_by", "retried"),
                )
            },
        ),
        (_("What was asked for"), {"fields": ("asked", "parameters", "extra")}),
    )
    _ended = (_("Why it ended"), {"fields": ("error_told", "detail")})
    readonly_fields = (
        *("task_id", "state_now", "urgency", "deadline", "failed_attempts", "asked_by", "retried"),
        *("asked", "parameters", "extra", "error_told", "detail"),
    )

    # --- the list ------------------------------------------------------------------------

    @display(_("task"))
    def short_id(self, task: Task) -> str:
        """Return what tells tasks apart: the beginning of an id is its time."""
        return format_html(
            '<code title="{}">{}…{}</code>', task.pk, str(task.pk)[:8], str(task.pk)[-6:]
        )

    @display(_("state"), label=words.COLOURS)
    def state_label(self, task: Task) -> tuple[str, str]:
        """Return the state: what its colour goes by, and the word."""
        return words.state(task)

    @display(_("prompt"))
    def prompt(self, task: Task) -> str:
        """Return the beginning of what was asked for."""
        return _cut(_prompt(task))

    @display(_("generator"))
    def offered_as(self, task: Task) -> str:
        """Return which generator; long names are cut, and read in full when pointed at."""
        return _cut(task.generator.name)

    @display(_("owner"))
    def user(self, task: Task) -> str:
        """Return whose it is; long names are cut, and read in full when pointed at."""
        return _cut(task.owner.get_username())

    @display(_("created"))
    def submitted(self, task: Task) -> str:
        """Return when it was submitted, short enough for one line."""
        return format_html(
            '<time datetime="{}" title="{}">{}</time>',
            task.created_at.isoformat(),
            f"{task.created_at:%Y-%m-%d %H:%M:%S} UTC",
            f"{task.created_at:%m-%d %H:%M:%S}",
        )

    @display(_("took"))
    def took(self, task: Task) -> str:
        """Return the seconds from the start of the last attempt to the end."""
        text = words.between(task.started_at, task.finished_at)
        return format_html('<span class="whitespace-nowrap">{}</span>', text)

    @display(_("error"))
    def error(self, task: Task) -> str:
        """Return why it ended without a result; who canceled it is told by its history."""
        if words.state_of(task) == words.CANCELED or not task.error_code:
            return "–"
        code = task.error_code
        title = f"{code}: {words.error_sentence(code)}"
        return format_html('<span title="{}">{}</span>', title, words.error(code))

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Task], search_term: str
    ) -> tuple[QuerySet[Task], bool]:
        """Search by prefix of id or owner."""
        return searching.search(queryset, search_term, "id", "owner_id"), False

    # --- the page ------------------------------------------------------------------------

    @display(_("id"))
    def task_id(self, task: Task) -> str:
        """Return the whole id."""
        return format_html('<code class="whole">{}</code>', task.pk)

    @display(_("state"))
    def state_now(self, task: Task) -> str:
        """Return the state as the list shows it."""
        return coloured(*words.state(task), words.COLOURS)

    @display(_("priority"))
    def urgency(self, task: Task) -> str:
        """Return the priority."""
        return words.priority(task.priority)

    @display(_("deadline"))
    def deadline(self, task: Task) -> str:
        """Return when it is ended if it still runs."""
        return date_format(task.deadline_at, "DATETIME_FORMAT") if task.deadline_at else "–"

    @display(_("failures"))
    def failed_attempts(self, task: Task) -> str:
        """Return the spent failure budget, of how much."""
        return f"{task.failures} / {task.generator.failure_budget}"

    @display(_("request id"))
    def asked_by(self, task: Task) -> str:
        """Return the id of the request that submitted it, as logs have it."""
        return format_html('<code class="whole">{}</code>', task.request_id or "–")

    @display(_("retry of"))
    def retried(self, task: Task) -> str:
        """Return a link to the task that this one repeats; it may be in the archive."""
        if task.retry_of is None:
            return "–"
        page = reverse("admin:tasks_app_task_change", args=[task.retry_of])
        return format_html('<a class="whole" href="{}">{}</a>', page, task.retry_of)

    @display(_("prompt"))
    def asked(self, task: Task) -> str:
        """Return the prompt as it was typed."""
        return _block(_prompt(task))

    @display(_("error"))
    def error_told(self, task: Task) -> str:
        """Return why it ended without a result: the code of the API, and what it means."""
        code = task.error_code
        if not code:
            return "–"
        return format_html("{} <code>{}</code>", words.error_sentence(code), code)

    @display(_("detail"))
    def detail(self, task: Task) -> str:
        """Return what the generator itself said."""
        return _block(task.error_detail) if task.error_detail else "–"

    @display(_("parameters"))
    def parameters(self, task: Task) -> str:
        """Return what was asked for besides the prompt."""
        return _pretty({name: value for name, value in task.params.items() if name != "prompt"})

    @display(_("metadata"))
    def extra(self, task: Task) -> str:
        """Return the caller's own words."""
        return _pretty(task.metadata)

    def get_fieldsets(self, request: HttpRequest, obj: Task | None = None) -> Any:
        """Say why it ended where there is something to say."""
        found = super().get_fieldsets(request, obj)
        return [*found, self._ended] if obj is not None and obj.error_code else found

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Add timeline, attempts, pictures and the actions that make sense now."""
        task = self.get_object(request, object_id)
        if task is None and (place := _in_the_archive(object_id)):
            return redirect(place)
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
        "standing": standing.rows(task),
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


def _in_the_archive(object_id: str) -> str | None:
    """Return the page of an archived task, for links from before it moved."""
    try:
        known = ArchivedTask.objects.filter(pk=UUID(object_id)).exists()
    except ValueError:
        return None
    return reverse("admin:tasks_app_archivedtask_change", args=[object_id]) if known else None


def history_of_archived(row: ArchivedTask) -> dict[str, Any]:
    """Return what an archived task's page shows besides its fields."""
    task = archived.restored(row)
    events = archived.events(row.pk)[:_MOST_ROWS]
    return {
        "timeline": [_line(event, task.created_at) for event in events],
        "attempts": [_row(attempt) for attempt in archived.attempts(row.pk)[:_MOST_ROWS]],
        "pictures": [{"removed": one.removed_at} for one in archived.artifacts(task)],
        "show_close": True,
    }


def _line(event: Event, beginning: datetime) -> dict[str, Any]:
    return {
        "kind": words.event(event.kind),
        "at": event.at,
        "after": words.between(beginning, event.at),
        "attempt": event.attempt_number,
        "details": words.details(event),
        "good": event.kind == EventKind.SUCCEEDED,
        "bad": event.kind in (EventKind.FAILED, EventKind.TIMED_OUT),
    }


def _row(attempt: Attempt) -> dict[str, Any]:
    return {
        "number": attempt.number,
        "worker": attempt.worker,
        "started_at": attempt.started_at,
        "heartbeat_at": attempt.heartbeat_at,
        "revoked_at": attempt.revoked_at,
        "ended_at": attempt.ended_at,
        "took": words.between(attempt.started_at, attempt.ended_at),
        "outcome": words.outcome(attempt.outcome) or _("still executing"),
        "error": " ".join((words.error(attempt.error_code), attempt.error_detail)).strip(),
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


def _cut(text: str) -> str:
    return format_html('<span class="cut" title="{}">{}</span>', text[:1000], text[:160])


def _prompt(task: Task) -> str:
    found = task.params.get("prompt") if isinstance(task.params, dict) else None
    return found.strip() if isinstance(found, str) else ""


def _pretty(value: object) -> str:
    return _block(json.dumps(value, indent=2, ensure_ascii=False))


def _block(text: str) -> str:
    return format_html('<pre class="verbatim">{}</pre>', text or "–")
