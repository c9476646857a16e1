"""What the lists and pages of the admin share: reading only, and paging without counting."""

from typing import Any, ClassVar, TypeVar

from django.contrib.admin import ShowFacets
from django.contrib.auth.models import Permission
from django.core.exceptions import EmptyResultSet
from django.core.paginator import Paginator
from django.db import connections
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.utils.functional import cached_property

from tasks_app.admin import rights
from tasks_app.admin.dress import ModelAdmin

M = TypeVar("M", bound=Model)

MOST_COUNTED = 2_000
"""Rows that a list counts; its last page is the fortieth."""


class Uncounted(Paginator):  # type: ignore[type-arg]
    """Counts up to a bound, in the database; what is beyond is found by filter and search."""

    template_name = "admin/pages.html"

    @property
    def more(self) -> bool:
        """Whether there may be rows that have not been counted."""
        return self.count >= MOST_COUNTED

    @cached_property
    def count(self) -> int:
        """Return how many rows there are, or the bound."""
        rows: Any = self.object_list
        if not isinstance(rows, QuerySet):
            return len(rows)
        bounded = rows.order_by().values("pk")[:MOST_COUNTED]
        try:
            sql, parameters = bounded.query.sql_with_params()
        except EmptyResultSet:  # Django knows that nothing can match
            return 0
        with connections[rows.db].cursor() as cursor:
            # What has been put together by Django's own compiler, with its parameters.
            cursor.execute(f"SELECT count(*) FROM ({sql}) AS bounded", parameters)  # noqa: S608
            return int(cursor.fetchone()[0])


class Base(ModelAdmin[M]):
    """A list that stays quick whatever the size of its table."""

    show_full_result_count = False
    show_facets = ShowFacets.NEVER  # each would count the whole table
    paginator: ClassVar[Any] = Uncounted
    list_per_page = 50
    list_max_show_all = 0
    list_filter_sheet = True
    compressed_fields = True
    warn_unsaved_form = True

    def formfield_for_manytomany(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Call rights by their names in the reader's language."""
        field: Any = super().formfield_for_manytomany(db_field, request, **kwargs)
        if field is not None and db_field.remote_field.model is Permission:
            field.label_from_instance = rights.said
        return field

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        """Leave the count to the foot of the list: a bounded one is no title."""
        found: Any = super().get_changelist_instance(request)
        found.full_result_count = found.result_count
        return found


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


class Kept:
    """Rows that others refer to are not deleted."""

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Never."""
        return False
