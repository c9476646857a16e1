"""What is used of the limits now: for a page of accounts, and for all accounts of a plan."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db.models import Count, F, Sum
from django.db.models.functions import Coalesce
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from tasks_app.admin import now
from tasks_app.core import quotas
from tasks_app.core.clock import database_now
from tasks_app.core.quotas import Counted
from tasks_app.lifecycle import LIVE, State
from tasks_app.models import DayUse, Plan, Task

_LIVE: Final = [state.value for state in LIVE]
_FULL: Final = "font-semibold text-red-600 dark:text-red-400"


@dataclass(frozen=True, slots=True)
class Use:
    """What one account uses, and when that was so."""

    at: datetime
    open: int
    running: int
    counted: Counted


def of_accounts(pks: Sequence[int]) -> dict[int, Use]:
    """Return the use of each account, from the index of live tasks and the counts."""
    at = database_now()
    live: dict[int, Counter[str]] = {pk: Counter() for pk in pks}
    rows = Task.objects.filter(owner_id__in=list(pks), state__in=_LIVE)
    for owner, state, number in rows.values_list("owner_id", "state").annotate(Count("pk")):
        live[owner][state] += number
    counts = quotas.counted_of(pks, at)
    return {
        pk: Use(at, each.total(), each[State.RUNNING.value], counts[pk])
        for pk, each in live.items()
    }


def said(used: int, limit: int | None) -> str:
    """Return a use beside its limit; a limit that is reached is told apart."""
    if limit is None:
        return format_html("{} / ∞", used)
    return format_html(
        '<span class="{}">{} / {}</span>', _FULL if used >= limit else "", used, limit
    )


def of_plan(plan: Plan) -> dict[str, str]:
    """Return for each limit of a plan what its accounts use, kept for a few seconds."""
    return now.kept(f"plan {plan.pk}", lambda: _of_plan(plan))


def _of_plan(plan: Plan) -> dict[str, str]:
    today = quotas.day_of(database_now())
    live = Task.objects.filter(owner__account__plan=plan, state__in=_LIVE)
    running = live.filter(state=State.RUNNING.value)
    days = DayUse.objects.filter(owner__account__plan=plan, day__gte=today.replace(day=1))
    return {
        "open": _summary(live, "max_open", plan.max_open),
        "running": _summary(running, "max_running", plan.max_running),
        "today": _summary(days.filter(day=today), "max_day", plan.max_day, Sum("number")),
        "month": _summary(days, "max_month", plan.max_month, Sum("number")),
    }


def _summary(rows: Any, column: str, usual: int | None, what: Any = None) -> str:
    """Return who uses how much: all together, the most, and how many can go no further.

    Only users with a live task, or a count, have rows here: not all that there are.
    """
    each = (
        rows.order_by()
        .values("owner_id", limit=Coalesce(F(f"owner__account__{column}"), usual))
        .annotate(used=what or Count("pk"))
        .filter(used__gt=0)
    )
    found = [(row["used"], row["limit"]) for row in each]
    if not found:
        return _("nobody")
    sentence = ngettext(
        "%(all)d by %(users)d user; at most %(most)s; %(full)d at their limit",
        "%(all)d by %(users)d users; at most %(most)s; %(full)d at their limit",
        len(found),
    )
    return sentence % {
        "all": sum(used for used, _limit in found),
        "users": len(found),
        "most": _most(found),
        "full": sum(limit is not None and used >= limit for used, limit in found),
    }


def _most(found: list[tuple[int, int | None]]) -> str:
    used, limit = max(found, key=lambda one: one[0])
    return f"{used} / {'∞' if limit is None else limit}"
