"""Generators: what is offered, with which settings; pausing and withdrawing act at once."""

from typing import Any, Final

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.forms.fields import InvalidJSONInput
from django.http import HttpRequest
from django.utils.functional import Promise
from django.utils.html import format_html, format_html_join
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from tasks_app import bells
from tasks_app.admin import journal, now, words
from tasks_app.admin.base import Base
from tasks_app.admin.dress import Select, display
from tasks_app.core import accounts, generators_file
from tasks_app.core.remote import checking
from tasks_app.core.withdrawal import withdraw
from tasks_app.generators import documents, registry
from tasks_app.generators.errors import InvalidSettings
from tasks_app.generators.remote import COMMON_HELP
from tasks_app.models import Generator


def settings_help() -> str:
    """Return each adapter's settings, as its contract describes them."""
    return format_html_join(
        "",
        "<p><strong>{}</strong>: {}</p>",
        (
            *(
                (name, gettext(registry.adapter_class(name).settings_help))
                for name in registry.names()
            ),
            (_("all that work elsewhere"), gettext(COMMON_HELP)),
        ),
    )


class SettingsField(forms.JSONField):
    """A JSON object that can be stored; nothing at all is an empty one."""

    def to_python(self, value: Any) -> Any:
        """Read the text, however it is made."""
        if value in self.empty_values:
            return {}
        try:
            found = super().to_python(value)
            documents.check_storable(found)
        except (RecursionError, ValueError, documents.Unusable) as error:
            raise ValidationError(str(error)) from error
        if not isinstance(found, dict):
            raise ValidationError(_("The settings must be an object; without any, write {}."))
        return found

    def bound_data(self, data: Any, initial: Any) -> Any:
        """Show what cannot be read again as it was typed."""
        try:
            self.to_python(data)
        except ValidationError:
            return InvalidJSONInput(data)
        return super().bound_data(data, initial)


class GeneratorForm(forms.ModelForm[Generator]):
    """Checks the adapter's settings before they can harm a task."""

    adapter = forms.ChoiceField(label=_("Adapter"), choices=[], widget=Select)

    class Meta:
        model = Generator
        fields = ("name", *generators_file.FIELDS)
        field_classes = {"settings": SettingsField}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["adapter"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [(name, name) for name in registry.names()]
        described = self.fields.get("settings")
        if described is not None:  # who may only look gets a form without fields
            described.help_text = format_html("{}{}", described.help_text, settings_help())

    def clean_pool(self) -> str:
        """Keep the names of queues that hold no tasks: their workers would claim nothing."""
        pool = str(self.cleaned_data["pool"])
        if pool == bells.CALLBACKS or pool.endswith(bells.POLLS):
            raise ValidationError(_("This name is taken by a queue of the service itself."))
        return pool

    def clean(self) -> dict[str, Any] | None:
        """Let the adapter judge its settings."""
        cleaned = super().clean() or self.cleaned_data
        if cleaned.get("adapter") and "settings" in cleaned:
            try:
                built = registry.build(cleaned["adapter"], cleaned["settings"])
                built.parameter_schema(cleaned["settings"])
            except (InvalidSettings, registry.UnknownAdapter) as error:
                raise ValidationError({"settings": str(error)}) from error
            except (Exception, SystemExit) as error:  # an operator's code may raise anything
                text = f"{type(error).__name__}: {error}"
                raise ValidationError({"settings": text}) from error
        return cleaned


_STATES: Final = {
    "offered": ("success", _("offered")),
    "paused": ("warning", _("paused")),
    "withdrawn": ("danger", _("withdrawn")),
}
_COLOURS: Final = {name: colour for name, (colour, _word) in _STATES.items()}


_MOST_CHECKED: Final = 10
"""Upstreams that are looked at together, within ten seconds."""


@admin.register(Generator)
class GeneratorAdmin(Base[Generator]):
    """What users may choose."""

    form = GeneratorForm
    list_display = ("name", "title", "status", "adapter", "pool", "slots", "upstream", "waiting")
    list_filter = ("adapter", "pool", "paused", "enabled")
    search_fields = ("name__startswith", "title__istartswith")
    actions = ("pause", "resume", "drain", "withdraw", "offer", "test_connection")
    readonly_fields = ("slots", "upstream", "waiting", "next_start")
    fieldsets = (
        (None, {"fields": (("name", "title"), "description", ("paused", "enabled"))}),
        (_("Now"), {"fields": (("slots", "upstream"), ("waiting", "next_start"))}),
        (_("How it works"), {"fields": (("adapter", "kind"), "settings")}),
        (
            _("Limits"),
            {
                "fields": (
                    ("pool", "max_running"),
                    ("timeout_seconds", "expected_seconds"),
                    ("rate_per_minute", "rate_burst"),
                    ("failure_budget", "fallback"),
                )
            },
        ),
    )

    @display(_("status"), label=_COLOURS)
    def status(self, generator: Generator) -> tuple[str, str]:
        """Return whether it takes tasks and starts them: what the colour goes by, and the word."""
        found = "offered" if generator.enabled else "withdrawn"
        if generator.enabled and generator.paused:
            found = "paused"
        return found, str(_STATES[found][1])

    @display(_("upstream"))
    def upstream(self, generator: Generator) -> str:
        """Return what the upstream is given at once, and whether it is left alone."""
        reading = now.pressed().get(generator.pk)
        if reading is None:
            return "–"
        if reading.circuit:
            span = words.span(reading.seconds)
            return str(_("shut off, tried again in %(span)s") % {"span": span})
        if reading.closed:
            return str(_("left alone for %(span)s") % {"span": words.span(reading.seconds)})
        return str(_("%(limit)d at once") % {"limit": reading.limit or generator.max_running})

    @display(_("slots used"))
    def slots(self, generator: Generator) -> str:
        """Return the slots used now, of how many."""
        used = now.slots().get(generator.pk)
        return f"{'?' if used is None else used} / {generator.max_running}"

    @display(_("waiting"))
    def waiting(self, generator: Generator) -> str:
        """Return how many tasks wait, and the longest for how long."""
        depth, oldest = now.waiting().get(generator.pk, (0, 0.0))
        return f"{depth} ({words.span(oldest)})" if depth else "0"

    @display(_("upstream's rate"))
    def next_start(self, generator: Generator) -> str:
        """Return whether the upstream's rate allows a start now, and otherwise when."""
        if not generator.rate_per_minute:
            return str(_("no limit"))
        waits = now.rate_waits()
        if waits is None:
            return "?"
        wait = waits.get(generator.pk, 0.0)
        if wait <= 0:
            return str(_("allows a start now"))
        return str(_("allows the next start in %(time)s") % {"time": words.span(wait)})

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Generators with history are withdrawn, not deleted; nor those of a plan's list.

        Without its last one, a list would allow all.
        """
        if obj is not None and accounts.is_listed(obj):
            return False
        if obj is None or obj.tasks.exists():
            return False
        return super().has_delete_permission(request, obj)

    @admin.action(description=_("Pause: accept tasks, start none"), permissions=["change"])
    def pause(self, request: HttpRequest, queryset: QuerySet[Generator]) -> None:
        """Pause; claims read the row, so it acts at once."""
        self._set(request, queryset, _("paused"), paused=True)

    @admin.action(description=_("Resume: start tasks again"), permissions=["change"])
    def resume(self, request: HttpRequest, queryset: QuerySet[Generator]) -> None:
        """Resume."""
        self._set(request, queryset, _("resumed"), paused=False)

    @admin.action(
        description=_("Drain: accept no tasks, finish those that wait"), permissions=["change"]
    )
    def drain(self, request: HttpRequest, queryset: QuerySet[Generator]) -> None:
        """Stop offering it; what waits is still run."""
        self._set(request, queryset, _("draining"), enabled=False, paused=False)

    @admin.action(description=_("Offer again"), permissions=["change"])
    def offer(self, request: HttpRequest, queryset: QuerySet[Generator]) -> None:
        """Offer it again."""
        self._set(request, queryset, _("offered"), enabled=True)

    @admin.action(
        description=_("Test the connection to the upstream, at no cost"), permissions=["change"]
    )
    def test_connection(self, request: HttpRequest, queryset: QuerySet[Generator]) -> None:
        """Look whether upstreams answer and accept us, and say what was seen."""
        for seen in checking.check(list(queryset[:_MOST_CHECKED])):
            level = messages.SUCCESS if seen.well else messages.ERROR
            self.message_user(request, f"{seen.generator}: {words.phrase(seen.text)}", level)

    @admin.action(
        description=_("Withdraw: accept no tasks, cancel those that wait"), permissions=["change"]
    )
    def withdraw(self, request: HttpRequest, queryset: QuerySet[Generator]) -> None:
        """Stop offering it and end what waits."""
        for generator in queryset:
            ended = withdraw(generator, request.user.get_username())
            journal.note(self, request, generator, _("withdrawn"))
            text = ngettext(
                "%(name)s: withdrawn, %(count)d waiting task canceled.",
                "%(name)s: withdrawn, %(count)d waiting tasks canceled.",
                ended,
            )
            self.message_user(request, text % {"name": generator.name, "count": ended})
        now.forget()

    def _set(
        self, request: HttpRequest, queryset: QuerySet[Generator], word: Promise, **columns: bool
    ) -> None:
        done, skipped = 0, 0
        for generator in queryset:
            if all(getattr(generator, name) == value for name, value in columns.items()):
                skipped += 1
                continue
            Generator.objects.filter(pk=generator.pk).update(**columns)
            journal.note(self, request, generator, word)
            done += 1
        text = _("%(done)d %(word)s, %(skipped)d skipped.")
        self.message_user(request, text % {"done": done, "word": word, "skipped": skipped})
        now.forget()
