"""The history of all tasks, to read."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from tasks_app.admin import searching
from tasks_app.admin.base import Base, ReadOnly
from tasks_app.admin.filters import Submitted
from tasks_app.models import Event


@admin.register(Event)
class EventAdmin(ReadOnly, Base[Event]):
    """Lines of history, newest first."""

    list_display = ("at", "kind", "task", "attempt_number", "data")
    list_select_related = ("task",)
    list_filter = (Submitted,)
    search_fields = ("task_id",)
    search_help_text = _("The beginning of a task's id (6 digits at least)")
    ordering = ("-id",)
    sortable_by = ()

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
