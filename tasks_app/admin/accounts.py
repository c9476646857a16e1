"""Plans and accounts: the limits, and how much of them is used now."""

from collections import Counter
from typing import Any

from django.contrib import admin
from django.db.models import Count
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _

from tasks_app.admin import now, searching
from tasks_app.admin.base import Base, Kept
from tasks_app.admin.dress import display
from tasks_app.core import accounts, rates
from tasks_app.core.clock import database_now
from tasks_app.lifecycle import LIVE, State
from tasks_app.models import Account, Plan, Task


@admin.register(Plan)
class PlanAdmin(Base[Plan]):
    """Named sets of limits."""

    list_display = (
        "name",
        "is_default",
        "users",
        "max_open",
        "max_running",
        "submit_interval",
        "submit_burst",
        "weight",
    )
    fieldsets = (
        (None, {"fields": (("name", "is_default"),)}),
        (_("Tasks"), {"fields": (("max_open", "max_running"),)}),
        (_("Submissions"), {"fields": (("submit_interval", "submit_burst"),)}),
        (_("Share"), {"fields": ("weight",)}),
    )

    @display(_("users"))
    def users(self, plan: Plan) -> int:
        """Return how many accounts have this plan."""
        return self._counts().get(plan.pk, 0)

    def _counts(self) -> dict[Any, int]:
        rows = Account.objects.values_list("plan").annotate(Count("pk"))
        return now.kept("plans", lambda: dict(rows.order_by()))

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Plans in use, and the default one, stay."""
        if obj is None or obj.is_default or obj.accounts.exists():
            return False
        return super().has_delete_permission(request, obj)


def use_of(pks: list[int]) -> dict[int, Counter[str]]:
    """Return how many live tasks each owner has, by state, from one index of live tasks."""
    live = Task.objects.filter(owner_id__in=pks, state__in=[state.value for state in LIVE])
    found: dict[int, Counter[str]] = {pk: Counter() for pk in pks}
    for owner, state in live.values_list("owner_id", "state"):
        found[owner][state] += 1
    return found


@admin.register(Account)
class AccountAdmin(Kept, Base[Account]):
    """A user's plan and overrides: empty fields take the plan's value."""

    list_display = ("user", "plan", "open_tasks", "running_tasks", "submissions", "share")
    list_select_related = ("user", "plan")
    list_filter = ("plan",)
    search_fields = ("user",)
    search_help_text = _("The beginning of a user's name")
    ordering = ("-user",)
    sortable_by = ()
    autocomplete_fields = ("user",)
    readonly_fields = ("open_tasks", "running_tasks", "submissions")
    fieldsets = (
        (None, {"fields": (("user", "plan"),)}),
        (_("Used now"), {"fields": (("open_tasks", "running_tasks", "submissions"),)}),
        (
            _("Differs from the plan"),
            {
                "description": _("Empty fields take the plan's value."),
                "fields": (
                    ("max_open", "max_running"),
                    ("submit_interval", "submit_burst"),
                    "weight",
                ),
            },
        ),
    )

    def get_search_results(
        self, request: HttpRequest, queryset: Any, search_term: str
    ) -> tuple[Any, bool]:
        """Search by prefix of the name."""
        if not search_term.strip():
            return queryset, False
        return queryset.filter(user_id__in=searching.owners(search_term.strip())), False

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        """Read the use of all accounts of the page at once."""
        found = super().get_changelist_instance(request)
        used, moment = use_of([account.pk for account in found.result_list]), database_now()
        for account in found.result_list:
            account.used, account.now = used[account.pk], moment
        return found

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        """An account stays with its user."""
        return (*self.readonly_fields, *(("user",) if obj else ()))

    @display(_("open tasks"))
    def open_tasks(self, account: Account) -> str:
        """Return open tasks, of how many."""
        return _of(_used(account).total(), accounts.limits_of(account).max_open)

    @display(_("running tasks"))
    def running_tasks(self, account: Account) -> str:
        """Return running tasks, of how many."""
        running = _used(account)[State.RUNNING.value]
        return _of(running, accounts.limits_of(account).max_running)

    @display(_("submissions left at once"))
    def submissions(self, account: Account) -> str:
        """Return what is left of the burst, of how much."""
        limits = accounts.limits_of(account)
        if limits.submit_interval <= 0:
            return "∞"
        rate = rates.conform(
            account.submit_tat,
            getattr(account, "now", None) or database_now(),
            limits.submit_interval,
            limits.submit_burst,
        )
        left = rate.remaining + 1 if rate.allowed else 0
        return f"{left} / {limits.submit_burst}"

    @display(_("weight"))
    def share(self, account: Account) -> float:
        """Return the weight that holds."""
        return accounts.limits_of(account).weight


def _used(account: Account) -> Counter[str]:
    used: Counter[str] | None = getattr(account, "used", None)
    return use_of([account.pk])[account.pk] if used is None else used


def _of(used: int, limit: int) -> str:
    full = "font-semibold text-red-600 dark:text-red-400" if used >= limit else ""
    return format_html('<span class="{}">{} / {}</span>', full, used, limit)
