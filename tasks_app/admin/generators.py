"""Generators: what is offered, and pausing it."""

from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from tasks_app.generators import registry
from tasks_app.generators.errors import InvalidSettings
from tasks_app.models import Generator


class GeneratorForm(forms.ModelForm[Generator]):
    """Checks the adapter's settings before they can harm a task."""

    adapter = forms.ChoiceField(choices=[])

    class Meta:
        model = Generator
        fields = (
            "name",
            "title",
            "description",
            "adapter",
            "settings",
            "kind",
            "pool",
            "max_running",
            "timeout_seconds",
            "expected_seconds",
            "failure_budget",
            "fallback",
            "paused",
            "enabled",
        )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["adapter"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [(name, name) for name in registry.names()]

    def clean(self) -> dict[str, Any] | None:
        """Let the adapter judge its settings."""
        cleaned = super().clean() or self.cleaned_data
        if cleaned.get("adapter") and isinstance(cleaned.get("settings"), dict):
            try:
                built = registry.build(cleaned["adapter"], cleaned["settings"])
                built.parameter_schema(cleaned["settings"])
            except (InvalidSettings, registry.UnknownAdapter) as error:
                raise ValidationError({"settings": str(error)}) from error
        return cleaned


@admin.register(Generator)
class GeneratorAdmin(admin.ModelAdmin[Generator]):
    """What users may choose."""

    form = GeneratorForm
    list_display = ("name", "title", "adapter", "pool", "max_running", "paused", "enabled")
    list_filter = ("adapter", "pool", "paused", "enabled")
    actions = ("pause", "resume")

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Generators with history are withdrawn (not offered), not deleted."""
        if obj is not None and obj.tasks.exists():
            return False
        return super().has_delete_permission(request, obj)

    @admin.action(description=_("Pause: accept tasks, start none"), permissions=["change"])
    def pause(self, request: HttpRequest, queryset: QuerySet[Generator]) -> None:
        """Pause; claims read the row, so it acts at once."""
        queryset.update(paused=True)

    @admin.action(description=_("Resume"), permissions=["change"])
    def resume(self, request: HttpRequest, queryset: QuerySet[Generator]) -> None:
        """Resume."""
        queryset.update(paused=False)
