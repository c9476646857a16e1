"""Reading a pool as it is, and playing its order forward (``core.estimates``).

At most ``FLOWS`` flows per generator and ``TASKS`` tasks are read, by indexes, so that a tick
costs the same with any backlog behind them.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.db import connection

from tasks_app import conf
from tasks_app.core import claim, estimates
from tasks_app.core.clock import database_now
from tasks_app.core.fairness import PRIORITY_FACTORS
from tasks_app.gates import slots
from tasks_app.lifecycle import Priority
from tasks_app.models import Generator

FLOWS: Final = 500
TASKS: Final = 6_000
_LEAST_PER_FLOW: Final = 4
_RANKS: Final[Mapping[Priority, int]] = {Priority.HIGH: 0, Priority.NORMAL: 1, Priority.LOW: 2}

_FLOWS = """
SELECT flow.id, generator.id, flow.owner_id, flow.priority, flow.head_tag,
       COALESCE(account.weight, plan.weight), COALESCE(account.max_running, plan.max_running)
FROM tasks_app_generator AS generator
CROSS JOIN LATERAL (
    SELECT id, owner_id, priority, head_tag FROM tasks_app_flow
    WHERE pool = %(pool)s AND generator_id = generator.id AND head_tag IS NOT NULL
    ORDER BY head_tag LIMIT %(flows)s
) AS flow
JOIN tasks_app_account AS account ON account.user_id = flow.owner_id
JOIN tasks_app_plan AS plan ON plan.id = account.plan_id
WHERE NOT generator.paused
"""
_TASKS = """
SELECT flow.id, task.tag, task.cost FROM unnest(%(ids)s::uuid[]) AS flow(id)
CROSS JOIN LATERAL (
    SELECT tag, cost FROM tasks_app_task
    WHERE flow_id = flow.id AND state = 'pending' AND not_before IS NULL
    ORDER BY tag, id LIMIT %(most)s
) AS task
"""
_RUNNING = """
SELECT task.pool, task.generator_id, attempt.owner_id, attempt.remote, task.cost,
       extract(epoch FROM %(now)s - attempt.started_at)::float8
FROM tasks_app_attempt AS attempt JOIN tasks_app_task AS task ON task.id = attempt.task_id
WHERE attempt.ended_at IS NULL
"""
_LANES = "SELECT generator_id, clock, shift FROM tasks_app_lane WHERE pool = %(pool)s"
_NOW = "SELECT virtual_time FROM tasks_app_pool WHERE name = %(pool)s"


@dataclass(frozen=True, slots=True)
class Load:
    """What runs, in all pools, and what each upstream's rate makes one wait."""

    rows: Sequence[tuple[Any, ...]]
    waits: Mapping[UUID, float]
    generators: Sequence[Generator]

    def by_owner(self) -> dict[int, int]:
        """Return how many executions each owner has."""
        found: dict[int, int] = {}
        for row in self.rows:
            found[row[2]] = found.get(row[2], 0) + 1
        return found


def load(generators: Sequence[Generator]) -> Load:
    """Read what runs. Raises ``RedisError`` or a database error."""
    waits = slots.rate_waits([claim.rate_of(one) for one in generators])
    return Load(_rows(_RUNNING, now=database_now()), waits, generators)


@dataclass(frozen=True, slots=True)
class Foresight:
    """What is to be expected of a pool."""

    starts: list[estimates.Start]
    entries: dict[UUID, tuple[int, float]]
    full_owners: list[int]


def foresee(pool: str, workers: int, now: Load) -> Foresight:
    """Play the pool's order forward. Raises database errors."""
    running = _running(pool, now)
    owners: dict[int, estimates.Owner] = {}
    flows = _flows(pool, now, owners)
    lanes = _lanes(pool, now)
    (virtual,) = (_rows(_NOW, pool=pool) or [(0.0,)])[0]
    places = {lane.generator_id: lane.clock + lane.shift for lane in lanes}
    full = sorted(pk for pk, owner in owners.items() if owner.used >= owner.limit)
    play = estimates.Play(
        lanes,
        flows,
        owners,
        running,
        free=max(0, conf.get().limit_all - len(now.rows)),
        # Without any worker the order is what it would be with one.
        workers=max(0, max(1, workers) - sum(one.local for one in running)),
        now=virtual,
    )
    starts = play.starts()
    entries = {pk: estimates.entry(starts, pk, max(place, virtual)) for pk, place in places.items()}
    return Foresight(starts, entries, full)


def _flows(pool: str, now: Load, owners: dict[int, estimates.Owner]) -> list[estimates.Flow]:
    rows = _rows(_FLOWS, pool=pool, flows=FLOWS)
    used = now.by_owner()
    flows: dict[UUID, estimates.Flow] = {}
    for pk, generator, owner, priority, head, weight, limit in rows:
        owners.setdefault(owner, estimates.Owner(limit, used.get(owner, 0)))
        urgency = Priority(priority)
        factor = weight * PRIORITY_FACTORS[urgency]
        flows[pk] = estimates.Flow(pk, generator, owner, _RANKS[urgency], head, factor, deque())
    most = max(_LEAST_PER_FLOW, TASKS // max(1, len(flows)))
    guesses = {one.pk: one.expected_seconds for one in now.generators}
    for pk, tag, cost in _rows(_TASKS, ids=list(flows), most=most):
        flows[pk].tasks.append((tag, guesses[flows[pk].generator_id] if cost is None else cost))
    return list(flows.values())


def _lanes(pool: str, now: Load) -> list[estimates.Lane]:
    places = {pk: (clock, shift) for pk, clock, shift in _rows(_LANES, pool=pool)}
    used: dict[UUID, int] = {}
    for row in now.rows:
        used[row[1]] = used.get(row[1], 0) + 1
    return [
        estimates.Lane(
            one.pk,
            one.max_running,
            used.get(one.pk, 0),
            *places.get(one.pk, (0.0, 0.0)),
            one.rate_interval,
            one.rate_burst,
            now.waits.get(one.pk, 0.0),
            claim.is_remote(one),
        )
        for one in now.generators
        if not one.paused
    ]


def _running(pool: str, now: Load) -> list[estimates.Running]:
    guesses = {one.pk: one.expected_seconds for one in now.generators}
    return [
        estimates.Running(
            generator,
            owner,
            estimates.left_of(guesses.get(generator, 1.0) if cost is None else cost, elapsed),
            local=not remote and where == pool,
        )
        for where, generator, owner, remote, cost, elapsed in now.rows
    ]


def _rows(statement: str, **values: Any) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return list(cursor.fetchall())
