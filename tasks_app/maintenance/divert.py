"""Tasks that may be degraded leave a generator that is shut off for its fallback."""

import logging
from collections.abc import Iterator
from typing import Any, Final

from django.db import connection

from tasks_app import conf
from tasks_app.core import accounts, moving, params, pressure
from tasks_app.core.accounts import Limits
from tasks_app.core.errors import Refusal
from tasks_app.generators import registry
from tasks_app.generators.errors import InvalidSettings
from tasks_app.lifecycle import State
from tasks_app.maintenance.report import Report
from tasks_app.models import Account, Flow, Generator, Task

logger = logging.getLogger(__name__)

BATCH: Final = 500


def to_fallbacks(report: Report, dry_run: bool) -> None:
    """Circuit open, or too many wait: those whose callers allow it go to the fallback.

    Only to a generator that their owners may choose. Only what it knows of the parameters goes
    along, and is judged anew, by the limits of now; what does not fit there stays.
    """
    pressed = pressure.readings()
    crowded = set(crowded_pools())
    for generator in Generator.objects.filter(fallback__isnull=False).select_related("fallback"):
        there = generator.fallback
        reading = pressed.get(generator.pk)
        shut = reading is not None and reading.circuit
        if there is None or not (shut or generator.pool in crowded) or not _takes(there, pressed):
            continue
        for task, limits in _waiting(generator, there):
            if dry_run or _divert(task, there, limits):
                report.add("moved to a fallback")


_CROWDED = """
SELECT pool.name FROM (
    SELECT DISTINCT pool AS name FROM tasks_app_flow WHERE head_tag IS NOT NULL
) AS pool
CROSS JOIN LATERAL (
    SELECT 1 FROM tasks_app_task
    WHERE pool = pool.name AND state = 'pending' AND not_before IS NULL
    OFFSET %s LIMIT 1
) AS beyond
"""


def crowded_pools() -> list[str]:
    """Return the pools in which more tasks wait than the operator finds right."""
    with connection.cursor() as cursor:
        cursor.execute(_CROWDED, [conf.get().backlog_alert])
        return [pool for (pool,) in cursor.fetchall()]


def _takes(there: Generator, pressed: Any) -> bool:
    reading: pressure.Reading | None = pressed.get(there.pk)
    return not there.paused and there.enabled and not (reading is not None and reading.circuit)


def _waiting(generator: Generator, there: Generator) -> Iterator[tuple[Task, Limits]]:
    """Return tasks that may go there, with the limits of their owners."""
    flows = Flow.objects.filter(generator_id=generator.pk, head_tag__isnull=False)
    left = BATCH
    for flow_id, owner_id in list(flows.values_list("pk", "owner_id")[:BATCH]):
        account = Account.objects.select_related("plan").get(user_id=owner_id)
        if not accounts.offered_to(account).filter(pk=there.pk).exists():
            continue
        limits = accounts.limits_of(account)
        waiting = Task.objects.select_related("generator").filter(
            flow_id=flow_id,
            state=State.PENDING.value,
            not_before__isnull=True,
            allow_degraded=True,
            degraded=False,
        )
        for task in waiting.order_by("tag", "pk")[:left]:
            left -= 1
            yield task, limits
        if left <= 0:
            return


def _divert(task: Task, there: Generator, limits: Limits) -> bool:
    try:
        known = params.schema_of(there).get("properties", {})
        kept = {name: value for name, value in task.params.items() if name in known}
        values = params.validated(there, kept, limits)
    except Refusal:
        return False
    except (InvalidSettings, registry.UnknownAdapter, ValueError) as error:
        logger.error("generator %s takes no tasks: %s", there.name, error)
        return False
    if params.beyond(values, limits):
        return False
    told = {"from": task.generator.name}
    return moving.move_to(task, there, params=values, degraded=True, told=told)
