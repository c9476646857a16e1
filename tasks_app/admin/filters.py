"""Filters whose queries an index answers."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from tasks_app.admin import words
from tasks_app.lifecycle import ErrorCode, State
from tasks_app.models import Generator


class InState(admin.SimpleListFilter):
    """By state, as the list names it: tasks ended on purpose are no failures."""

    title = _("state")
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Any:
        """Offer what states are called."""
        return list(words.STATES.items())

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Narrow to one state; both kinds of failed tasks have their index."""
        wanted = self.value()
        if wanted == words.CANCELED:
            return queryset.filter(error_code=ErrorCode.CANCELED.value)
        if wanted == State.FAILED:
            queryset = queryset.exclude(error_code=ErrorCode.CANCELED.value)
        return queryset.filter(state=wanted) if wanted in words.STATES else queryset


class HowFar(admin.SimpleListFilter):
    """By state of a callback, as the list names it."""

    title = _("state")
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Any:
        """Offer what states are called."""
        return list(words.CALLBACKS.items())

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Narrow to one state."""
        wanted = self.value()
        return queryset.filter(state=wanted) if wanted in words.CALLBACKS else queryset


class Submitted(admin.SimpleListFilter):
    """Since when: task ids begin with their time, so that this is a range of the primary key."""

    title = _("submitted")
    parameter_name = "since"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Any:
        """Offer these."""
        return [
            ("1h", _("the last hour")),
            ("24h", _("the last 24 hours")),
            ("7d", _("the last 7 days")),
            ("30d", _("the last 30 days")),
        ]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Narrow to ids that are not older."""
        spans = {"1h": 1, "24h": 24, "7d": 7 * 24, "30d": 30 * 24}
        hours = spans.get(self.value() or "")
        if hours is None:
            return queryset
        since = timezone.now() - timedelta(hours=hours)
        first = UUID(int=int(since.timestamp() * 1000) << 80)
        return queryset.filter(pk__gte=first)


class OfGenerator(admin.SimpleListFilter):
    """By generator, from the names alone."""

    title = _("generator")
    parameter_name = "generator"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Offer all generators."""
        return [(name, name) for name in Generator.objects.values_list("name", flat=True)]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Narrow to one generator's tasks."""
        if not self.value():
            return queryset
        pks = list(Generator.objects.filter(name=self.value()).values_list("pk", flat=True))
        return queryset.filter(generator_id__in=pks)
