"""Tasks with their attempts and history, to look at; acting on them is for the full admin."""

from typing import Any, cast

from django.contrib import admin
from django.core.paginator import Paginator
from django.http import HttpRequest
from django.utils.functional import cached_property

from tasks_app.models import Attempt, Event, Task


class ReadOnly:
    """Nothing can be added, changed or deleted: history is not edited."""

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Never."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Never."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Never."""
        return False


class AttemptInline(ReadOnly, admin.TabularInline[Attempt, Task]):
    """The executions of a task."""

    model = Attempt
    extra = 0
    fields = ("number", "worker", "started_at", "heartbeat_at", "ended_at", "outcome", "error_code")
    readonly_fields = fields


class EventInline(ReadOnly, admin.TabularInline[Event, Task]):
    """The history of a task."""

    model = Event
    extra = 0
    fields = ("at", "kind", "attempt_number", "data")
    readonly_fields = fields


class Uncounted(Paginator):  # type: ignore[type-arg]
    """A paginator that does not count a table of millions for a page."""

    @cached_property
    def count(self) -> int:
        """Return a bound: pages beyond it are found by filter and search."""
        return len(cast("Any", self.object_list)[:10_000].values_list("pk", flat=True))


@admin.register(Task)
class TaskAdmin(ReadOnly, admin.ModelAdmin[Task]):
    """Tasks, newest first."""

    list_display = ("id", "state", "generator", "owner", "created_at", "error_code")
    list_select_related = ("generator", "owner")
    list_filter = ("state", "generator")
    search_fields = ("=id", "owner__username__startswith")
    ordering = ("-id",)
    show_full_result_count = False
    paginator = Uncounted
    list_per_page = 50
    inlines = (AttemptInline, EventInline)
