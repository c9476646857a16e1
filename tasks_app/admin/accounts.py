"""Plans, accounts and API keys."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from tasks_app.core import credentials
from tasks_app.models import Account, ApiKey, Plan


@admin.register(Plan)
class PlanAdmin(admin.ModelAdmin[Plan]):
    """Named sets of limits."""

    list_display = (
        "name",
        "is_default",
        "max_open",
        "max_running",
        "submit_interval",
        "submit_burst",
        "weight",
    )


@admin.register(Account)
class AccountAdmin(admin.ModelAdmin[Account]):
    """A user's plan and overrides: empty fields take the plan's value."""

    list_display = ("user", "plan", "max_open", "max_running", "submit_interval", "weight")
    list_select_related = ("user", "plan")
    list_filter = ("plan",)
    search_fields = ("user__username",)
    autocomplete_fields = ("user",)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Accounts go with their users."""
        return False


@admin.register(ApiKey)
class ApiKeyAdmin(admin.ModelAdmin[ApiKey]):
    """Keys can be made (shown once) and revoked, never read again."""

    list_display = ("name", "prefix", "user", "created_at", "last_used_at", "revoked_at")
    list_select_related = ("user",)
    search_fields = ("prefix", "user__username", "name")
    fields = ("user", "name")
    autocomplete_fields = ("user",)
    actions = ("revoke_keys",)

    def save_model(self, request: HttpRequest, obj: ApiKey, form: Any, change: bool) -> None:
        """Make the key and show it, this once."""
        made, text = credentials.create(obj.user, obj.name)
        obj.pk, obj.prefix, obj.digest = made.pk, made.prefix, made.digest
        message = _("The key, shown only now: %(key)s") % {"key": text}
        messages.warning(request, message)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """There is nothing to change in a key; the list is still shown."""
        return obj is None and super().has_change_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Keys are revoked, so that their history stays."""
        return False

    @admin.action(description=_("Revoke the selected keys"), permissions=["change"])
    def revoke_keys(self, request: HttpRequest, queryset: QuerySet[ApiKey]) -> None:
        """Revoke keys; revoked ones stay revoked."""
        count = 0
        for key in queryset.filter(revoked_at__isnull=True):
            credentials.revoke(key)
            count += 1
        self.message_user(request, ngettext("%d key revoked.", "%d keys revoked.", count) % count)
