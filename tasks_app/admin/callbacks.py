"""Callbacks in the admin: what was told and how that went, and addresses that are gone."""

from typing import Any

from django.contrib import admin
from django.contrib.admin.models import CHANGE, LogEntry
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from tasks_app import bells
from tasks_app.admin import searching, words
from tasks_app.admin.base import Base, ReadOnly
from tasks_app.admin.dress import TabularInline, coloured, display
from tasks_app.admin.filters import HowFar
from tasks_app.callbacks import outbox
from tasks_app.models import Callback, CallbackAddress, CallbackAttempt


class AttemptInline(ReadOnly, TabularInline[CallbackAttempt, Callback]):
    """What came back."""

    model = CallbackAttempt
    extra = 0
    hide_title = True  # a number among its fields says as much
    fields = ("number", "at", "took", "came", "http_status", "answer")
    readonly_fields = fields
    ordering = ("-number",)
    verbose_name_plural = _("delivery attempts")

    @display(_("took"))
    def took(self, attempt: CallbackAttempt) -> str:
        """Return how long the receiver took."""
        return f"{attempt.seconds:.3f} s"

    @display(_("outcome"))
    def came(self, attempt: CallbackAttempt) -> str:
        """Return what came of it."""
        return words.delivery(attempt.outcome)

    @display(_("HTTP status"))
    def http_status(self, attempt: CallbackAttempt) -> int | None:
        """Return what the receiver answered."""
        return attempt.status


@admin.register(Callback)
class CallbackAdmin(ReadOnly, Base[Callback]):
    """The outbox. Bodies hold what users asked for, and are not shown here."""

    list_display = ("event", "owner", "standing", "attempts", "came", "http_status", "made")
    list_filter = (HowFar,)
    list_select_related = ("owner",)
    search_fields = ("owner",)
    search_help_text = _("The beginning of an id or of a user's name")
    ordering = ("-id",)
    sortable_by = ()
    actions = ("redeliver",)
    inlines = (AttemptInline,)
    fields = (
        ("event", "state_now"),
        ("owner", "task_id"),
        "url",
        ("attempts", "http_status"),
        "came",
        ("created_at", "ended_at"),
        ("last_at", "next_attempt_at"),
    )
    readonly_fields = (
        *("event", "state_now", "owner", "task_id", "url", "attempts", "came", "http_status"),
        *("created_at", "last_at", "next_attempt_at", "ended_at"),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Callback]:
        """Leave the bodies where they are."""
        return super().get_queryset(request).defer("body")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Callback], search_term: str
    ) -> tuple[QuerySet[Callback], bool]:
        """Search by prefix of the id or of the owner's name."""
        return searching.search(queryset, search_term, "pk", "owner_id"), False

    @display(_("state"), label=words.CALLBACK_COLOURS)
    def standing(self, callback: Callback) -> tuple[str, str]:
        """Return how far it is, as a coloured word."""
        return words.callback_state(callback.state)

    @display(_("state"))
    def state_now(self, callback: Callback) -> str:
        """Return how far it is, dressed as in the list."""
        return coloured(*words.callback_state(callback.state), words.CALLBACK_COLOURS)

    @display(_("outcome"))
    def came(self, callback: Callback) -> str:
        """Return what came of the last attempt."""
        return words.delivery(callback.last_outcome)

    @display(_("HTTP status"))
    def http_status(self, callback: Callback) -> int | None:
        """Return what the receiver answered last."""
        return callback.last_status

    @display(_("created"))
    def made(self, callback: Callback) -> Any:
        """Return when it was written."""
        return callback.created_at

    def has_redeliver_permission(self, request: HttpRequest) -> bool:
        """Whether this member of the staff may."""
        return request.user.has_perm("tasks_app.redeliver_callback")

    @admin.action(description=_("Deliver again"), permissions=["redeliver"])
    def redeliver(self, request: HttpRequest, queryset: QuerySet[Callback]) -> None:
        """Deliver again, with all retries."""
        chosen = list(queryset.values_list("pk", flat=True)[:500])
        begun = outbox.redeliver(Q(pk__in=chosen))
        if begun:
            bells.ring(bells.CALLBACKS)
            rows = list(Callback.objects.filter(pk__in=begun).defer("body"))
            said = str(_("Deliver again"))
            LogEntry.objects.log_actions(str(request.user.pk), rows, CHANGE, change_message=said)
        count = len(begun)
        text = ngettext(
            "%d callback is delivered again.", "%d callbacks are delivered again.", count
        )
        self.message_user(request, text % count)


@admin.register(CallbackAddress)
class CallbackAddressAdmin(Base[CallbackAddress]):
    """Default addresses, and those that answered that they are gone."""

    list_display = ("url", "owner", "is_default", "disabled_at")
    list_select_related = ("owner",)
    search_fields = ("owner",)
    search_help_text = _("The beginning of a user's name")
    ordering = ("-id",)
    sortable_by = ()
    actions = ("enable",)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Owners set their addresses."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Owners remove them."""
        return False

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        """Nothing is edited; the action does what there is to do."""
        return ("owner", "url", "is_default", "with_running", "created_at", "disabled_at")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[CallbackAddress], search_term: str
    ) -> tuple[QuerySet[CallbackAddress], bool]:
        """Search by prefix of the owner's name."""
        if not search_term.strip():
            return queryset, False
        return queryset.filter(owner_id__in=searching.owners(search_term.strip())), False

    @admin.action(description=_("Use again"), permissions=["change"])
    def enable(self, request: HttpRequest, queryset: QuerySet[CallbackAddress]) -> None:
        """Use addresses again that had answered that they are gone."""
        rows = list(queryset.filter(disabled_at__isnull=False)[:500])
        CallbackAddress.objects.filter(pk__in=[row.pk for row in rows]).update(disabled_at=None)
        if rows:
            said = str(_("Use again"))
            LogEntry.objects.log_actions(str(request.user.pk), rows, CHANGE, change_message=said)
        count = len(rows)
        text = ngettext("%d address is used again.", "%d addresses are used again.", count)
        self.message_user(request, text % count)
