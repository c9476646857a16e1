"""What a user is offered: generators with their schemas, and the limits of the account."""

import logging
from typing import Any

from django.contrib.auth.models import AbstractBaseUser

from tasks_app.core import accounts, params, rates
from tasks_app.core.clock import database_now
from tasks_app.lifecycle import LIVE, State
from tasks_app.models import Generator, Task

logger = logging.getLogger(__name__)


def generators() -> list[dict[str, Any]]:
    """Return the offered generators, as documents. One that is set up wrongly is left out."""
    found: list[dict[str, Any]] = []
    for generator in Generator.objects.filter(enabled=True):
        try:
            schema = params.schema_of(generator)
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
    """Return the plan, the limits and their use."""
    row = accounts.account_of(user)
    limits = accounts.limits_of(row)
    states = Task.objects.filter(owner_id=user.pk, state__in=[s.value for s in LIVE])
    used = list(states.values_list("state", flat=True))
    rate = rates.conform(
        row.submit_tat, database_now(), limits.submit_interval, limits.submit_burst
    )
    return {
        "user": user.get_username(),
        "plan": limits.plan,
        "limits": {
            "open": {"limit": limits.max_open, "used": len(used)},
            "running": {"limit": limits.max_running, "used": used.count(State.RUNNING.value)},
            "submit": {
                "interval_seconds": limits.submit_interval,
                "burst": limits.submit_burst,
                "remaining": min(limits.submit_burst, rate.remaining + 1) if rate.allowed else 0,
                "retry_after": round(rate.retry_after, 3),
            },
        },
        "weight": limits.weight,
    }
