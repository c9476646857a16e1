"""The history of all tasks, to read."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _

from tasks_app.admin import searching, words
from tasks_app.admin.base import Base, ReadOnly
from tasks_app.admin.dress import display
from tasks_app.admin.filters import Submitted
from tasks_app.models import Event


@admin.register(Event)
class EventAdmin(ReadOnly, Base[Event]):
    """Lines of history, newest first."""

    list_display = ("moment", "said", "of_task", "attempt_number", "told")
    list_display_links = None
    fields = ("at", "said", "of_task", "attempt_number", "told")
    readonly_fields = ("said", "of_task", "told")
    list_select_related = ("task",)
    list_filter = (Submitted,)
    search_fields = ("task_id",)
    search_help_text = _("The beginning of a task's id (6 digits at least)")
    ordering = ("-id",)
    sortable_by = ()

    @display(_("at"))
    def moment(self, event: Event) -> str:
        """Return when it happened."""
        return f"{event.at:%Y-%m-%d %H:%M:%S}"

    @display(_("kind"))
    def said(self, event: Event) -> str:
        """Return what happened."""
        return words.event(event.kind)

    @display(_("task"))
    def of_task(self, event: Event) -> str:
        """Return a link to the task."""
        return format_html(
            '<a class="text-primary-600 dark:text-primary-500" href="{}"><code>{}</code></a>',
            reverse("admin:tasks_app_task_change", args=[event.task_id]),
            event.task_id,
        )

    @display(_("data"))
    def told(self, event: Event) -> str:
        """Return what it says besides."""
        return " · ".join(words.details(event)) or "–"

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Event], search_term: str
    ) -> tuple[QuerySet[Event], bool]:
        """Search by prefix of the task's id: a range of the index that a task's history has."""
        if not search_term.strip():
            return queryset, False
        ids = searching.id_range(search_term)
        if ids is None:
            return queryset.none(), False
        return queryset.filter(task_id__gte=ids[0], task_id__lte=ids[1]), False
