"""Plans and accounts: the limits, and how much of them is used now."""

from typing import Any, Final

from django.contrib import admin
from django.db.models import Count, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy as _

from tasks_app.admin import assigning, now, searching, use
from tasks_app.admin.base import Base, Kept
from tasks_app.admin.dress import display
from tasks_app.core import accounts, rates
from tasks_app.models import Account, GroupPlan, Plan

_ONE_TASK: Final[tuple[Any, Any]] = (
    _("One task"),
    {"fields": (("max_n", "max_side"), ("max_priority", "max_wait"), "generators")},
)
_AS_PLAN: Final = _("Empty: as the plan says.")


@admin.register(Plan)
class PlanAdmin(Base[Plan]):
    """Named sets of limits."""

    list_display = (
        "name",
        "is_default",
        "rank",
        "users",
        "max_open",
        "max_running",
        "submit_interval",
        "submit_burst",
        "max_day",
        "max_month",
        "weight",
    )
    readonly_fields = ("users", "open_now", "running_now", "today", "this_month")
    fieldsets = (
        (None, {"fields": (("name", "rank"), ("is_default", "users"))}),
        (
            _("Tasks"),
            {"fields": (("max_open", "open_now"), ("max_running", "running_now"))},
        ),
        (_("Submissions"), {"fields": (("submit_interval", "submit_burst"),)}),
        (_("Allowances"), {"fields": (("max_day", "today"), ("max_month", "this_month"))}),
        _ONE_TASK,
        (_("Results"), {"fields": ("result_days",)}),
        (_("Share"), {"fields": ("weight",)}),
    )

    def save_model(self, request: HttpRequest, obj: Plan, form: Any, change: bool) -> None:
        """Save it; a new default takes the place of the one before."""
        accounts.save_plan(obj)

    @display(_("users"))
    def users(self, plan: Plan) -> int:
        """Return how many accounts have this plan, by whatever way."""
        return self._counts().get(plan.pk, 0)

    @display(_("open now"))
    def open_now(self, plan: Plan) -> str:
        """Return what the accounts of the plan have open."""
        return use.of_plan(plan)["open"]

    @display(_("running now"))
    def running_now(self, plan: Plan) -> str:
        """Return what the accounts of the plan have running."""
        return use.of_plan(plan)["running"]

    @display(_("today"))
    def today(self, plan: Plan) -> str:
        """Return what counts for the accounts of the plan today."""
        return use.of_plan(plan)["today"]

    @display(_("this month"))
    def this_month(self, plan: Plan) -> str:
        """Return what counts for the accounts of the plan this month."""
        return use.of_plan(plan)["month"]

    def _counts(self) -> dict[Any, int]:
        rows = Account.objects.values_list("plan").annotate(Count("pk"))
        return now.kept("plans", lambda: dict(rows.order_by()))

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Plans in use, and the default one, stay."""
        if obj is None or obj.is_default or obj.accounts.exists() or obj.groups.exists():
            return False
        return super().has_delete_permission(request, obj)


@admin.register(GroupPlan)
class GroupPlanAdmin(Base[GroupPlan]):
    """Which groups have which plan: users who have none of their own get it."""

    list_display = ("group", "plan", "rank")
    list_select_related = ("group", "plan")
    list_filter = ("plan",)
    ordering = ("group__name",)

    @display(_("rank"))
    def rank(self, chosen: GroupPlan) -> int:
        """Return what decides between the plans of several groups."""
        return chosen.plan.rank


@admin.register(Account)
class AccountAdmin(Kept, Base[Account]):
    """A user's plan and overrides: empty fields take the plan's value."""

    list_display = (
        "user",
        "plan",
        "plan_by",
        "open_tasks",
        "running_tasks",
        "submissions",
        "today",
        "this_month",
        "share",
    )
    list_select_related = ("user", "plan")
    list_filter = ("plan",)
    search_fields = ("user",)
    search_help_text = _("The beginning of a user's name")
    ordering = ("-user",)
    sortable_by = ()
    autocomplete_fields = ("user",)
    actions = ("assign_plan",)
    readonly_fields = (
        *("plan", "plan_by", "open_tasks", "running_tasks", "submissions", "today"),
        *("this_month", "share"),
    )
    fieldsets = (
        (None, {"fields": ("user", "own_plan", ("plan", "plan_by"))}),
        (
            _("Tasks"),
            {
                "description": _("Empty fields take the plan's value."),
                "fields": (("max_open", "open_tasks"), ("max_running", "running_tasks")),
            },
        ),
        (
            _("Submissions"),
            {"fields": (("submit_interval", "submit_burst", "submissions"),)},
        ),
        (_("Allowances"), {"fields": (("max_day", "today"), ("max_month", "this_month"))}),
        _ONE_TASK,
        (_("Results"), {"fields": ("result_days",)}),
        (_("Share"), {"fields": (("weight", "share"),)}),
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
        used = use.of_accounts([account.pk for account in found.result_list])
        for account in found.result_list:
            account.used = used[account.pk]
        return found

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        """An account stays with its user."""
        return (*self.readonly_fields, *(("user",) if obj else ()))

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Say that what is left empty is as in the plan, not without a limit."""
        field = super().formfield_for_dbfield(db_field, request, **kwargs)
        if field is not None and db_field.name in accounts.OWN:
            field.help_text = _AS_PLAN
        if field is not None and db_field.name == "generators":
            field.help_text = _("None chosen: those of the plan.")
        return field

    def save_model(self, request: HttpRequest, obj: Account, form: Any, change: bool) -> None:
        """Let the tables decide which plan a new account has."""
        if not change:
            obj.plan = obj.own_plan or accounts.default_plan()
        super().save_model(request, obj, form, change)

    @admin.action(description=_("Assign a plan"), permissions=["change"])
    def assign_plan(self, request: HttpRequest, queryset: QuerySet[Account]) -> HttpResponse | None:
        """Give the chosen accounts a plan."""
        return assigning.assign(self, request, queryset)

    @display(_("plan by"))
    def plan_by(self, account: Account) -> str:
        """Return why this plan holds."""
        if account.pk is None or account.plan_id is None:
            return ""
        if account.own_plan_id is not None:
            return str(_("own"))
        return str(_("default") if account.plan.is_default else _("group"))

    @display(_("open now"))
    def open_tasks(self, account: Account) -> str:
        """Return open tasks, of how many."""
        return use.said(_used(account).open, accounts.limits_of(account).max_open)

    @display(_("running now"))
    def running_tasks(self, account: Account) -> str:
        """Return running tasks, of how many."""
        return use.said(_used(account).running, accounts.limits_of(account).max_running)

    @display(_("today"))
    def today(self, account: Account) -> str:
        """Return what counts today, of how many."""
        return use.said(_used(account).counted.today, accounts.limits_of(account).max_day)

    @display(_("this month"))
    def this_month(self, account: Account) -> str:
        """Return what counts this month, of how many."""
        return use.said(_used(account).counted.month, accounts.limits_of(account).max_month)

    @display(_("submissions left at once"))
    def submissions(self, account: Account) -> str:
        """Return what is left of the burst, of how much."""
        limits = accounts.limits_of(account)
        if limits.submit_interval <= 0:
            return "∞"
        rate = rates.conform(
            account.submit_tat, _used(account).at, limits.submit_interval, limits.submit_burst
        )
        left = rate.remaining + 1 if rate.allowed else 0
        return f"{left} / {limits.submit_burst}"

    @display(_("weight that holds"))
    def share(self, account: Account) -> float:
        """Return the weight that holds."""
        return accounts.limits_of(account).weight


def _used(account: Account) -> use.Use:
    found: use.Use | None = getattr(account, "used", None)
    return use.of_accounts([account.pk])[account.pk] if found is None else found
