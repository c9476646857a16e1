"""Archived tasks: the same list and page as those of tasks, to read only."""

from collections.abc import Callable
from functools import wraps
from typing import Any, Final

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy as _

from tasks_app.admin import searching, tasks
from tasks_app.admin.base import Base, ReadOnly
from tasks_app.admin.filters import InState, OfGenerator, Submitted
from tasks_app.core import archived
from tasks_app.models import ArchivedTask


def _as_of_task(name: str) -> Callable[[Any, ArchivedTask], Any]:
    """Return a column of the list, or a field of the page, of tasks: for archived ones."""
    shown = getattr(tasks.TaskAdmin, name)

    @wraps(shown)
    def show(self: Any, row: ArchivedTask) -> Any:
        task = archived.restored(row)
        task.owner = row.owner
        return shown(self, task)

    return show


_LIST: Final = (
    *("short_id", "state_label", "prompt", "offered_as", "user", "submitted", "took", "error"),
)
_PAGE: Final = (
    *("task_id", "state_now", "urgency", "failed_attempts", "asked_by", "retried"),
    *("asked", "parameters", "extra", "error_told", "detail"),
)


def _dressed(cls: type[Any]) -> type[Any]:
    for name in dict.fromkeys((*_LIST, *_PAGE)):
        setattr(cls, name, _as_of_task(name))
    return cls


@admin.register(ArchivedTask)
@_dressed
class ArchivedTaskAdmin(ReadOnly, Base[ArchivedTask]):
    """Archived tasks, newest first. Who may look at tasks may look at these."""

    list_display = _LIST
    list_display_links = ("short_id",)
    list_select_related = ("generator", "owner")
    list_filter = (InState, OfGenerator, Submitted)
    search_fields = ("id",)
    search_help_text = _("The beginning of a task's id (6 digits at least) or of a user's name")
    ordering = ("-id",)
    sortable_by = ()
    change_form_template = "admin/tasks_app/task/change_form.html"
    fieldsets = (
        (
            None,
            {
                "fields": (
                    ("task_id", "state_now"),
                    ("generator", "owner"),
                    ("urgency", "failed_attempts"),
                    ("created_at", "finished_at"),
                    ("archived_at", "retried"),
                    ("asked_by",),
                )
            },
        ),
        (_("What was asked for"), {"fields": ("asked", "parameters", "extra")}),
    )
    _ended = (_("Why it ended"), {"fields": ("error_told", "detail")})
    readonly_fields = _PAGE

    def get_search_results(
        self, request: HttpRequest, queryset: Any, search_term: str
    ) -> tuple[Any, bool]:
        """Search by prefix of id or owner."""
        return searching.search(queryset, search_term, "id", "owner_id"), False

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Whether this member of the staff may look at tasks."""
        may: bool = request.user.has_perm("tasks_app.view_task")
        return may or super().has_view_permission(request, obj)

    def has_module_permission(self, request: HttpRequest) -> bool:
        """Whether this member of the staff may look at tasks."""
        return self.has_view_permission(request)

    def get_fieldsets(self, request: HttpRequest, obj: ArchivedTask | None = None) -> Any:
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
        """Add timeline, attempts and what there was of pictures."""
        row = self.get_object(request, object_id)
        more = tasks.history_of_archived(row) if row is not None else {}
        page: HttpResponse = super().change_view(
            request, object_id, form_url, more | (extra_context or {})
        )
        return page
