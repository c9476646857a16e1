"""What a user is offered: generators with their schemas, and the limits of the account."""

import logging
from datetime import datetime
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db.models import Count

from tasks_app.core import accounts, params, quotas, rates
from tasks_app.core.accounts import Limits
from tasks_app.core.clock import database_now
from tasks_app.core.documents import stamp
from tasks_app.lifecycle import LIVE, State
from tasks_app.models import Account, Generator, Task, bounds

logger = logging.getLogger(__name__)


def generators(user: AbstractBaseUser | None = None) -> list[dict[str, Any]]:
    """Return the offered generators, as documents. One that is set up wrongly is left out.

    For a user: only those that the user may choose, with schemas narrowed to the user's limits.
    """
    rows, allowed = Generator.objects.filter(enabled=True), None
    if user is not None:
        own = accounts.account_of(user)
        rows, allowed = accounts.offered_to(own), accounts.limits_of(own)
    found: list[dict[str, Any]] = []
    for generator in rows:
        try:
            schema = params.schema_of(generator)
            if allowed is not None:
                schema = params.narrowed(schema, allowed)
        except (Exception, SystemExit) as error:
            # Its code is anybody's: one row must not take the page from everybody.
            logger.error(
                "generator %s is not offered: %s: %s", generator.name, type(error).__name__, error
            )
            continue
        found.append(
            {
                "name": generator.name,
                "title": generator.title,
                "description": generator.description,
                "kind": generator.kind,
                "paused": generator.paused,
                "expected_seconds": generator.expected_seconds,
                "timeout_seconds": generator.timeout_seconds,
                "params_schema": schema,
            }
        )
    return found


def account(user: AbstractBaseUser) -> dict[str, Any]:
    """Return the plan, the limits and their use; null is no limit."""
    row = accounts.account_of(user)
    allowed, now = accounts.limits_of(row), database_now()
    states = Task.objects.filter(owner_id=user.pk, state__in=[s.value for s in LIVE])
    used = dict(states.values_list("state").annotate(Count("pk")).order_by())
    counted = quotas.counted(row.pk, now)
    return {
        "user": user.get_username(),
        "plan": allowed.plan,
        "limits": {
            "open": {"limit": allowed.max_open, "used": sum(used.values())},
            "running": {"limit": allowed.max_running, "used": used.get(State.RUNNING.value, 0)},
            "submit": _rate(row, allowed, now),
            "day": _count(allowed.max_day, counted.today, quotas.day_ends(now)),
            "month": _count(allowed.max_month, counted.month, quotas.month_ends(now)),
            "priorities": [priority.value for priority in reversed(allowed.priorities)],
            "n": allowed.max_n,
            "side": allowed.max_side,
            "max_wait": bounds.MOST_WAIT if allowed.max_wait is None else allowed.max_wait,
            "result_days": allowed.kept.total_seconds() / 86_400,
        },
        "weight": allowed.weight,
    }


def _count(limit: int | None, used: int, ends: datetime) -> dict[str, Any]:
    return {"limit": limit, "used": used, "resets_at": stamp(ends)}


def _rate(row: Account, allowed: Limits, now: datetime) -> dict[str, Any]:
    rate = rates.conform(row.submit_tat, now, allowed.submit_interval, allowed.submit_burst)
    return {
        "interval_seconds": allowed.submit_interval,
        "burst": allowed.submit_burst,
        "remaining": min(allowed.submit_burst, rate.remaining + 1) if rate.allowed else 0,
        "retry_after": round(rate.retry_after, 3),
    }
