"""What staff and monitoring look at: exact counts of what happened, and what holds now.

Every statement reads an index of live rows, the totals, or a bounded sample of recent rows, so
that looking costs the same however long the history is.
"""

from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.db import connection

from tasks_app import conf
from tasks_app.gates import keys, slots
from tasks_app.gates import workers as signs
from tasks_app.lifecycle import TERMINAL, State
from tasks_app.metrics import TASK_BUCKETS
from tasks_app.models import Flow, Generator, Pool


@dataclass(frozen=True, slots=True)
class Total:
    """How often something happened; ``le`` is the upper bound of its seconds, if measured."""

    kind: str
    generator_id: UUID
    state: str
    code: str
    reason: str
    le: float | None
    number: int
    seconds: float


# Shared with the folding in ``maintenance.tallies``: one row per tally, as a total of one.
TALLIES: Final = """
SELECT kind, generator_id, state, code, reason,
       CASE WHEN seconds IS NULL THEN -1 ELSE
           (%(bounds)s::float8[] || 'Infinity'::float8)
           [1 + width_bucket(seconds, %(bounds)s::float8[])]
       END AS le,
       1 AS number, COALESCE(seconds, 0) AS seconds
"""
BOUNDS: Final = list(TASK_BUCKETS[:-1])

_TOTALS = f"""
SELECT kind, generator_id, state, code, reason, le, sum(number)::bigint, sum(seconds)
FROM (
    SELECT kind, generator_id, state, code, reason, le, number, seconds FROM tasks_app_total
    UNION ALL
    {TALLIES} FROM tasks_app_tally
) AS counted
GROUP BY kind, generator_id, state, code, reason, le
"""  # noqa: S608 - constants only


def totals() -> list[Total]:
    """Return what has happened so far: one statement, so nothing is missed or counted twice."""
    return [
        Total(kind, pk, state, code, reason, None if le < 0 else le, number, seconds)
        for kind, pk, state, code, reason, le, number, seconds in _rows(_TOTALS, {"bounds": BOUNDS})
    ]


def states(counted: list[Total]) -> dict[State, int]:
    """Return how many tasks are in each state; ended ones also when they were archived."""
    found = dict.fromkeys(State, 0)
    for total in counted:
        if total.state and State(total.state) in TERMINAL:
            found[State(total.state)] += total.number
    for state, number in _rows(_LIVE):
        found[State(state)] = number
    return found


_LIVE = """
SELECT 'pending', count(*) FROM tasks_app_task WHERE state = 'pending'
UNION ALL SELECT 'running', count(*) FROM tasks_app_task WHERE state = 'running'
"""


@dataclass(frozen=True, slots=True)
class Backlog:
    """What waits for one generator in one pool."""

    pool: str
    generator_id: UUID
    depth: int
    oldest_seconds: float


_BACKLOGS = """
SELECT pool, generator_id, count(*),
       GREATEST(0, extract(epoch FROM clock_timestamp() - min(created_at)))
FROM tasks_app_task WHERE state = 'pending' GROUP BY pool, generator_id
"""


def backlogs() -> list[Backlog]:
    """Return every backlog. Pending tasks only, whose number the plans bound."""
    return [Backlog(pool, pk, depth, float(oldest)) for pool, pk, depth, oldest in _rows(_BACKLOGS)]


def pools() -> list[str]:
    """Return every pool that has generators or ever had work."""
    return sorted(
        set(Pool.objects.values_list("name", flat=True))
        | set(Flow.objects.values_list("pool", flat=True).distinct())
        | set(Generator.objects.values_list("pool", flat=True).distinct())
    )


@dataclass(frozen=True, slots=True)
class Slots:
    """Slots taken, of how many; all, or one generator's."""

    used: int
    limit: int


def slots_in_use(generators: list[Generator]) -> tuple[Slots, dict[UUID, Slots]]:
    """Return the slots of all, and of each generator. Raises ``RedisError``."""
    used = slots.used([keys.slots_all(), *(keys.slots_generator(one.pk) for one in generators)])
    each = zip(generators, used[1:], strict=True)
    return (
        Slots(used[0], conf.get().limit_all),
        {generator.pk: Slots(count, generator.max_running) for generator, count in each},
    )


def rate_waits(generators: list[Generator]) -> dict[UUID, float]:
    """Return the seconds until each used-up upstream allows a start. Raises ``RedisError``."""
    rates = [slots.Rate(one.pk, one.rate_interval, one.rate_burst) for one in generators]
    return slots.rate_waits(rates)


@dataclass(frozen=True, slots=True)
class WorkerSign:
    """A worker and the seconds since its last sign of life."""

    pool: str
    name: str
    seconds: float


def workers(of_pools: list[str]) -> list[WorkerSign]:
    """Return the workers that live. Raises ``RedisError``."""
    return [
        WorkerSign(pool, name, seconds) for pool in of_pools for name, seconds in signs.signs(pool)
    ]


@dataclass(frozen=True, slots=True)
class Pace:
    """How long the recent tasks of a generator waited and took."""

    generator_id: UUID
    sample: int
    waited: tuple[float, float]
    took: tuple[float, float]
    """Median and 95th percentile, in seconds."""


SAMPLE: Final = 1_000
# Not clock_timestamp(), which may change within a statement: no index could be asked for it.
_PACES = """
SELECT generator.id, count(*),
       percentile_cont(ARRAY[0.5, 0.95]) WITHIN GROUP (ORDER BY recent.waited),
       percentile_cont(ARRAY[0.5, 0.95]) WITHIN GROUP (ORDER BY recent.took)
FROM tasks_app_generator AS generator
CROSS JOIN LATERAL (
    SELECT extract(epoch FROM started_at - created_at)::float8 AS waited,
           extract(epoch FROM finished_at - started_at)::float8 AS took
    FROM tasks_app_task
    WHERE generator_id = generator.id AND state = 'success'
      AND finished_at > statement_timestamp() - interval '24 hours'
    ORDER BY finished_at DESC LIMIT %(sample)s
) AS recent
GROUP BY generator.id
"""


def paces() -> dict[UUID, Pace]:
    """Return each generator's pace over 24 hours, of its last ``SAMPLE`` successes."""
    return {
        pk: Pace(pk, count, tuple(waited), tuple(took))
        for pk, count, waited, took in _rows(_PACES, {"sample": SAMPLE})
    }


def _rows(statement: str, values: dict[str, Any] | None = None) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return list(cursor.fetchall())
