"""The fair order: start-time fair queuing over flows (Goyal, Vin, Cheng, 1996).

A flow is (pool, generator, owner, priority); a lane is all flows of a generator in a pool. A
flow's next task has a start tag: the later of the lane's clock when work came in and of the
flow's finish tag. Whoever claims takes the smallest start tag first, and only then the flow pays:
its finish tag moves on by the task's share, seconds / weight. So a burst delays its own flow, not
the others; what is canceled before it started was never paid for; and a change of weight acts on
what waits already.

What could not start for a while (its owner at a limit, its generator paused or saturated, its
upstream's rate used up) gets no credit for it: the start tag that is paid for is never before the
lane's clock, and ``Lane.shift`` moves a lane that fell behind forward to the pool's virtual time.
Otherwise a flow that was blocked for an hour would go first for an hour. Within a lane the
clock is the lane's own, so that shares by weight also hold where one generator is the
bottleneck.

A turn is its owner's: he spends it on his most urgent task that may start, whichever of his
flows it was that came first and that pays. So his urgent work never queues behind his own other
work, and what others get does not change.

Locks: a flow's row is locked before any of its pending tasks is added, taken or removed, so
that ``head_tag`` is always right. The order of locks is account, flow (by id), task, attempt,
everywhere.
"""

import logging
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
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
    """A task's place: its flow, and its number within the flow."""

    flow_id: UUID
    tag: float


_FINISH: Final = "CASE WHEN flow.finish_tag < 'Infinity' THEN flow.finish_tag ELSE 0 END"
_CLOCK: Final = """COALESCE((
    SELECT clock FROM tasks_app_lane WHERE pool = {pool} AND generator_id = {generator}
      AND clock < 'Infinity'
), 0)"""

# A flow with nothing to start begins where the lane is now, or where what it had ends.
_ENTER = f"""
WITH lane AS (SELECT {_CLOCK.format(pool="%(pool)s", generator="%(generator)s")} AS clock)
INSERT INTO tasks_app_flow AS flow
    (id, pool, generator_id, owner_id, priority, head_tag, last_tag, finish_tag)
SELECT %(id)s, %(pool)s, %(generator)s, %(owner)s, %(priority)s, clock, 1, clock FROM lane
ON CONFLICT (pool, generator_id, owner_id, priority) DO UPDATE SET
    last_tag = CASE WHEN flow.last_tag < 'Infinity' THEN flow.last_tag ELSE 0 END + 1,
    finish_tag = CASE WHEN flow.head_tag IS NULL
        THEN GREATEST({_FINISH}, EXCLUDED.finish_tag) ELSE {_FINISH} END,
    head_tag = LEAST(flow.head_tag, CASE WHEN flow.head_tag IS NULL
        THEN GREATEST({_FINISH}, EXCLUDED.finish_tag) ELSE {_FINISH} END)
RETURNING id, last_tag
"""  # noqa: S608 - constants only


def _naming(generator: Generator, owner_id: int, priority: Priority) -> dict[str, Any]:
    """Return what names a flow, and an id should it be new."""
    return {
        "id": new_id(),
        "pool": generator.pool,
        "generator": generator.pk,
        "owner": owner_id,
        "priority": priority.value,
    }


def enter(generator: Generator, owner_id: int, priority: Priority) -> Place:
    """Give a new task its place; locks the flow until the transaction ends."""
    values = _naming(generator, owner_id, priority)
    with connection.cursor() as cursor:
        cursor.execute(_ENTER, values)
        flow_id, tag = cursor.fetchone()
    return Place(flow_id, tag)


_MAKE = """
INSERT INTO tasks_app_flow
    (id, pool, generator_id, owner_id, priority, head_tag, last_tag, finish_tag)
VALUES (%(id)s, %(pool)s, %(generator)s, %(owner)s, %(priority)s, NULL, 0, 0)
ON CONFLICT (pool, generator_id, owner_id, priority) DO NOTHING
"""
_FIND = """
SELECT id FROM tasks_app_flow WHERE pool = %(pool)s AND generator_id = %(generator)s
  AND owner_id = %(owner)s AND priority = %(priority)s
"""


def flow_of(generator: Generator, owner_id: int, priority: Priority) -> UUID:
    """Return the id of a flow, which is made if there is none; for locking it in order."""
    values = _naming(generator, owner_id, priority)
    with connection.cursor() as cursor:
        cursor.execute(_MAKE, values)
        cursor.execute(_FIND, values)
        (flow_id,) = cursor.fetchone()
    found: UUID = flow_id
    return found


def lock_flow(flow_id: UUID) -> None:
    """Lock a flow's row until the transaction ends."""
    lock_flows([flow_id])


def lock_flows(flow_ids: Iterable[UUID]) -> None:
    """Lock several flows' rows, in the one order, until the transaction ends."""
    _require_transaction()
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT 1 FROM tasks_app_flow WHERE id = ANY(%s) ORDER BY id FOR UPDATE",
            [sorted(set(flow_ids))],
        )


# What was paid for and came back goes first: it starts where it had started.
_HEAD = """(
    SELECT LEAST(task.paid_tag, {finish}) FROM tasks_app_task AS task
    WHERE task.flow_id = flow.id AND task.state = 'pending' AND task.not_before IS NULL
    ORDER BY task.tag, task.id LIMIT 1
)"""
_REFRESH = f"""
UPDATE tasks_app_flow AS flow SET head_tag = {_HEAD.format(finish=_FINISH)}
WHERE id = ANY(%(flows)s)
"""  # noqa: S608 - constants only


def refresh_head(flow_id: UUID) -> None:
    """Set the head tag after a change; the caller holds the flow's lock."""
    refresh_heads([flow_id])


def refresh_heads(flow_ids: Iterable[UUID]) -> None:
    """Set the head tags after changes; the caller holds the flows' locks.

    A statement of its own: within the statement that changed the tasks, a task that another
    transaction has just committed could be missed.
    """
    _require_transaction()
    with connection.cursor() as cursor:
        cursor.execute(_REFRESH, {"flows": sorted(set(flow_ids))})


_PAY = f"""
UPDATE tasks_app_flow AS flow SET finish_tag = %(share)s + GREATEST(
    {_FINISH}, {_CLOCK.format(pool="flow.pool", generator="flow.generator_id")}
)
WHERE id = %(flow)s RETURNING finish_tag - %(share)s
"""  # noqa: S608 - constants only


def pay(flow_id: UUID, weighted: float) -> float:
    """Let a flow pay for a turn that it takes; returns the start tag.

    The caller holds the flow's lock, and refreshes its head tag afterwards.
    """
    _require_transaction()
    with connection.cursor() as cursor:
        cursor.execute(_PAY, {"flow": flow_id, "share": weighted})
        (tag,) = cursor.fetchone()
    return float(tag)


_GIVE_BACK = f"""
UPDATE tasks_app_flow AS flow SET finish_tag = {_FINISH} - given.share
FROM unnest(%(flows)s::uuid[], %(shares)s::float8[]) AS given(flow_id, share)
WHERE flow.id = given.flow_id
"""  # noqa: S608 - constants only


def give_back(flow_id: UUID, weighted: float) -> None:
    """Take a share out of a flow again; less than nothing is charged.

    Less was used than was paid for, or more. Takes the flow's lock.
    """
    with transaction.atomic():
        lock_flow(flow_id)
        _give_back({flow_id: weighted})


def _give_back(shares: Mapping[UUID, float]) -> None:
    """Take shares out of flows that the caller has locked."""
    given = {pk: share for pk, share in shares.items() if math.isfinite(share) and share != 0}
    if not given:
        return
    with connection.cursor() as cursor:
        cursor.execute(_GIVE_BACK, {"flows": list(given), "shares": list(given.values())})
    refresh_heads(given)


_SETTLE = """
WITH paid AS (
    SELECT id, share, cost, (
        SELECT COALESCE(sum(extract(epoch FROM ended_at - started_at)), 0)
        FROM tasks_app_attempt WHERE task_id = task.id
    )::float8 AS used
    FROM tasks_app_task AS task WHERE id = ANY(%(tasks)s)
    ORDER BY id FOR NO KEY UPDATE
)
UPDATE tasks_app_task AS task SET paid_by = NULL FROM paid,
    unnest(%(tasks)s::uuid[], %(flows)s::uuid[]) AS asked(task_id, flow_id)
WHERE task.id = paid.id AND task.id = asked.task_id AND task.paid_by = asked.flow_id
  AND task.state IN ('success', 'failed', 'timeout')
  AND NOT EXISTS (
      SELECT 1 FROM tasks_app_attempt WHERE task_id = task.id AND ended_at IS NULL)
RETURNING task.id, asked.flow_id, paid.share, paid.cost, paid.used
"""


def settle(paid_by: Mapping[UUID, UUID]) -> dict[UUID, float]:
    """Charge flows what the ended tasks that they paid for really took, each once.

    ``paid_by`` says which flow paid for a task. Returns the seconds that all executions of a task
    took, for those that are settled now: not those that were before, or whose execution goes on.
    """
    shares: dict[UUID, float] = defaultdict(float)
    with transaction.atomic():
        lock_flows(paid_by.values())
        with connection.cursor() as cursor:
            cursor.execute(_SETTLE, {"tasks": list(paid_by), "flows": list(paid_by.values())})
            rows = cursor.fetchall()
        for _, flow_id, *took in rows:
            overpaid = _overpaid(*took)
            if math.isfinite(overpaid):
                shares[flow_id] += overpaid
        _give_back(shares)
    return {task_id: float(used) for task_id, _, _, _, used in rows}


def _overpaid(paid: float, cost: float | None, used: float) -> float:
    if cost is None or cost <= 0:
        return 0.0
    return paid - min(max(paid * used / cost, 0.0), _MOST_SHARE)


# One statement, which reads as of one moment; both rows only ever move forward.
_ADVANCE = """
WITH seen AS (
    SELECT %(tag)s::float8 AS tag,
        COALESCE((SELECT shift FROM tasks_app_lane
            WHERE pool = %(pool)s AND generator_id = %(generator)s AND shift < 'Infinity'), 0
        ) AS shift,
        COALESCE((SELECT virtual_time FROM tasks_app_pool
            WHERE name = %(pool)s AND virtual_time < 'Infinity'), 0) AS now
), lane AS (
    INSERT INTO tasks_app_lane AS lane (id, pool, generator_id, clock, shift)
    SELECT %(id)s, %(pool)s, %(generator)s, tag, shift + GREATEST(0, now - tag - shift) FROM seen
    ON CONFLICT (pool, generator_id) DO UPDATE SET
        clock = CASE WHEN lane.clock < 'Infinity'
            THEN GREATEST(lane.clock, EXCLUDED.clock) ELSE EXCLUDED.clock END,
        shift = CASE WHEN lane.shift < 'Infinity'
            THEN GREATEST(lane.shift, EXCLUDED.shift) ELSE EXCLUDED.shift END
    WHERE lane.clock < EXCLUDED.clock OR lane.shift < EXCLUDED.shift
        OR NOT lane.clock < 'Infinity' OR NOT lane.shift < 'Infinity'
)
INSERT INTO tasks_app_pool AS pool (name, virtual_time)
SELECT %(pool)s, tag + shift FROM seen
ON CONFLICT (name) DO UPDATE SET virtual_time = EXCLUDED.virtual_time
WHERE pool.virtual_time < EXCLUDED.virtual_time OR NOT pool.virtual_time < 'Infinity'
"""


def advance(pool: str, generator_id: UUID, tag: float) -> None:
    """Move lane and pool forward to the start tag of a task that has started.

    After the claim has committed, and on its own: these rows are everybody's.
    """
    if not math.isfinite(tag):
        logger.error("the virtual time of pool %s does not follow a tag that is not finite", pool)
        return
    values: dict[str, Any] = {
        "pool": pool,
        "generator": generator_id,
        "tag": tag,
        "id": new_id(),
    }
    with connection.cursor() as cursor:
        cursor.execute(_ADVANCE, values)


def _require_transaction() -> None:
    if not transaction.get_connection().in_atomic_block:
        raise RuntimeError("a flow may only be locked inside a transaction")
