"""The fair order: start-time fair queuing over flows (Goyal, Vin, Cheng, 1996).

A flow is (pool, generator, owner, priority). A task's start tag is the later of the pool's
virtual time and its flow's finish tag; the finish tag then grows by the task's share. Whoever
claims takes the smallest start tag first, so a burst delays its own flow, not the others.

Locks: a flow's row is locked before any of its pending tasks is added, taken or removed, so
that ``head_tag`` is always the smallest tag of the tasks that may start. The order of locks
is account, flow, task, attempt, everywhere.
"""

import logging
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.db import connection, transaction

from tasks_app.lifecycle import Priority
from tasks_app.models import Generator, new_id

logger = logging.getLogger(__name__)

PRIORITY_FACTORS: Final[Mapping[Priority, float]] = {
    Priority.HIGH: 4.0,
    Priority.NORMAL: 1.0,
    Priority.LOW: 0.25,
}


_MOST_SHARE: Final = 1e9
"""More than a day's task of the lightest owner adds; a thousand of these are still exact."""


def share(expected_seconds: float, weight: float, priority: Priority) -> float:
    """Return what a task adds to its flow's finish tag, in weighted seconds."""
    return min(expected_seconds / (weight * PRIORITY_FACTORS[priority]), _MOST_SHARE)


@dataclass(frozen=True, slots=True)
class Place:
    """A task's place in the fair order."""

    flow_id: UUID
    tag: float


_ENTER = """
WITH virtual AS (
    SELECT COALESCE((
        SELECT virtual_time FROM tasks_app_pool
        WHERE name = %(pool)s AND virtual_time < 'Infinity'
    ), 0) AS now
)
INSERT INTO tasks_app_flow AS flow
    (id, pool, generator_id, owner_id, priority, head_tag, last_tag, finish_tag)
SELECT %(id)s, %(pool)s, %(generator)s, %(owner)s, %(priority)s,
       virtual.now, virtual.now, virtual.now + %(share)s
FROM virtual
ON CONFLICT (pool, generator_id, owner_id, priority) DO UPDATE SET
    last_tag = GREATEST(FINISH, EXCLUDED.last_tag),
    finish_tag = GREATEST(FINISH, EXCLUDED.last_tag) + %(share)s,
    head_tag = LEAST(flow.head_tag, GREATEST(FINISH, EXCLUDED.last_tag))
RETURNING id, last_tag
""".replace("FINISH", "CASE WHEN flow.finish_tag < 'Infinity' THEN flow.finish_tag ELSE 0 END")


def enter(generator: Generator, owner_id: int, priority: Priority, weighted: float) -> Place:
    """Give a new task its place; locks the flow until the transaction ends."""
    values: dict[str, Any] = {
        "id": new_id(),
        "pool": generator.pool,
        "generator": generator.pk,
        "owner": owner_id,
        "priority": priority.value,
        "share": weighted,
    }
    with connection.cursor() as cursor:
        cursor.execute(_ENTER, values)
        flow_id, tag = cursor.fetchone()
    return Place(flow_id, tag)


def lock_flow(flow_id: UUID) -> None:
    """Lock a flow's row until the transaction ends."""
    _require_transaction()
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM tasks_app_flow WHERE id = %s FOR UPDATE", [flow_id])


_REFRESH = """
UPDATE tasks_app_flow SET head_tag = (
    SELECT tag FROM tasks_app_task
    WHERE flow_id = %(flow)s AND state = 'pending' AND not_before IS NULL
    ORDER BY tag LIMIT 1
)
WHERE id = %(flow)s
"""


def refresh_head(flow_id: UUID) -> None:
    """Set the head tag after a change; the caller holds the flow's lock.

    A statement of its own: within the statement that changed the task, a task that another
    transaction has just committed could be missed.
    """
    _require_transaction()
    with connection.cursor() as cursor:
        cursor.execute(_REFRESH, {"flow": flow_id})


def give_back(flow_id: UUID, weighted: float) -> None:
    """Take a share out of the flow again: its task left without running."""
    if not math.isfinite(weighted):
        return  # it was never counted
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE tasks_app_flow SET finish_tag = finish_tag - %s WHERE id = %s",
            [weighted, flow_id],
        )


_ADVANCE = """
INSERT INTO tasks_app_pool AS pool (name, virtual_time) VALUES (%(pool)s, %(tag)s)
ON CONFLICT (name) DO UPDATE SET virtual_time = EXCLUDED.virtual_time
WHERE pool.virtual_time < EXCLUDED.virtual_time OR NOT pool.virtual_time < 'Infinity'
"""


def advance(pool: str, tag: float) -> None:
    """Move the pool's virtual time forward to the tag of a task that has started."""
    if not math.isfinite(tag):
        logger.error("the virtual time of pool %s does not follow a tag that is not finite", pool)
        return
    with connection.cursor() as cursor:
        cursor.execute(_ADVANCE, {"pool": pool, "tag": tag})


def _require_transaction() -> None:
    if not transaction.get_connection().in_atomic_block:
        raise RuntimeError("a flow may only be locked inside a transaction")
