"""The claim: pending -> running, together with taking the slots.

1. Read a few dozen candidates, unlocked: the heads of the flows, in fair order.
2. One Lua script picks the first that nobody else is claiming and that has room in every
   scope, and holds its slots under a fresh claim id for the claim lease (10 s).
3. One compare-and-set in PostgreSQL makes it running and writes the attempt row.
   Success: the slots are held for the full lease. Lost race: the slots are given back.
   Unknown (the connection broke at commit): the slots are left to expire, and the attempt
   row, if there is one, is found by the sweep.

No network call happens inside the transaction. Without Redis nothing is claimed.
"""

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Final
from uuid import UUID, uuid4

from django.db import (
    DatabaseError,
    InterfaceError,
    OperationalError,
    connection,
    transaction,
)

from tasks_app import bells, conf
from tasks_app.core import effects, fairness, pressure
from tasks_app.core.clock import database_now
from tasks_app.core.pressure import Reading
from tasks_app.core.transitions import move
from tasks_app.gates import keys, slots
from tasks_app.generators import registry
from tasks_app.lifecycle import EventKind, Priority, State
from tasks_app.models import Attempt, Generator, Task

logger = logging.getLogger(__name__)

_ROUNDS: Final = 20
"""How often one claim looks again after losing a race or finding owners at their limit."""
_FLOWS_PER_GENERATOR: Final = 16
_TASKS_PER_FLOW: Final = 4


@dataclass(frozen=True, slots=True)
class Claim:
    """A task that this process may now run, once."""

    task: Task
    attempt: Attempt
    generator: Generator
    holder: slots.Holder
    started: float
    """``time.monotonic()`` when the claim committed; deadlines in the worker count from it."""
    first: bool = True
    """Whether the task had not started before, so that its start moves virtual time."""

    @property
    def names(self) -> dict[str, object]:
        """What log lines of this execution are about."""
        return {
            "task": self.task.pk,
            "attempt": self.attempt.number,
            "request": self.task.request_id,
            "generator": self.generator.name,
        }


@dataclass(frozen=True, slots=True)
class Pick:
    """A task that could start, and the turn that it would take."""

    candidate: slots.Candidate
    turn: UUID
    """The flow that came first in the order, and pays."""
    turn_generator: UUID
    turn_priority: Priority
    weight: float


# A turn is a flow among the first of its lane. Its owner spends it on his most urgent task: of
# this flow, or of a more urgent flow of his in this pool.
_RANK = "CASE {flow}.priority WHEN 'high' THEN 0 WHEN 'normal' THEN 1 ELSE 2 END"
_CANDIDATES = f"""
SELECT task.id, generator.id, generator.max_running, turn.owner_id,
       COALESCE(account.max_running, plan.max_running),
       COALESCE(60 / generator.rate_per_minute, 0), generator.rate_burst,
       turn.id, lane_of.id, turn.priority, COALESCE(account.weight, plan.weight)
FROM tasks_app_generator AS lane_of
LEFT JOIN tasks_app_lane AS lane ON lane.pool = %(pool)s AND lane.generator_id = lane_of.id
CROSS JOIN LATERAL (
    SELECT id, owner_id, priority, head_tag FROM tasks_app_flow
    WHERE pool = %(pool)s AND generator_id = lane_of.id AND head_tag IS NOT NULL
      AND owner_id NOT IN (SELECT unnest(%(full_owners)s::bigint[]))
    ORDER BY head_tag LIMIT %(flows)s
) AS turn
CROSS JOIN LATERAL (
    SELECT turn.id, lane_of.id AS generator_id, {_RANK.format(flow="turn")} AS rank
    UNION ALL
    SELECT other.id, other.generator_id, {_RANK.format(flow="other")}
    FROM tasks_app_flow AS other
    WHERE turn.priority <> 'high' AND other.owner_id = turn.owner_id AND other.pool = %(pool)s
      AND other.head_tag IS NOT NULL
      AND {_RANK.format(flow="other")} < {_RANK.format(flow="turn")}
) AS flow
JOIN tasks_app_generator AS generator ON generator.id = flow.generator_id
CROSS JOIN LATERAL (
    SELECT id, tag FROM tasks_app_task
    WHERE flow_id = flow.id AND state = 'pending' AND not_before IS NULL
    ORDER BY tag, id LIMIT %(tasks)s
) AS task
JOIN tasks_app_account AS account ON account.user_id = turn.owner_id
JOIN tasks_app_plan AS plan ON plan.id = account.plan_id
WHERE NOT lane_of.paused AND NOT lane_of.id = ANY(%(closed)s::uuid[])
  AND NOT generator.paused AND NOT generator.id = ANY(%(closed)s::uuid[])
ORDER BY turn.head_tag + COALESCE(lane.shift, 0), {_RANK.format(flow="turn")}, turn.id,
         flow.rank, task.tag, task.id
"""  # noqa: S608 - constants only


def candidates(pool: str) -> list[Pick]:
    """Read the tasks that could start next, in fair order."""
    pressed = pressure.readings()
    values: dict[str, Any] = {
        "pool": pool,
        "full_owners": slots.full_owners(),
        "closed": closed_generators(pressed),
        "flows": _FLOWS_PER_GENERATOR,
        "tasks": _TASKS_PER_FLOW,
    }
    with connection.cursor() as cursor:
        cursor.execute(_CANDIDATES, values)
        rows = cursor.fetchall()
    picks = []
    for *of_task, turn, lane_of, priority, weight in rows:
        candidate = _pressed(slots.Candidate(*of_task), pressed)
        picks.append(Pick(candidate, turn, lane_of, Priority(priority), weight))
    return picks


def _pressed(candidate: slots.Candidate, pressed: Mapping[UUID, Reading]) -> slots.Candidate:
    """Return a candidate with what its upstream takes at once, if that is less."""
    limit = limit_in_force(candidate.generator_id, candidate.generator_limit, pressed)
    return replace(candidate, generator_limit=limit)


def limit_in_force(pk: UUID, own: int, pressed: Mapping[UUID, Reading]) -> int:
    """Return how many tasks of a generator may run now, of which its own limit is ``own``."""
    reading = pressed.get(pk)
    return own if reading is None or reading.limit is None else min(own, reading.limit)


def closed_generators(pressed: Mapping[UUID, Reading] | None = None) -> list[UUID]:
    """Generators that start nothing now: not worth reading.

    They have no free slot, or their upstream's rate is used up, or it is left alone.
    """
    pressed = pressure.readings() if pressed is None else pressed
    open_ones = list(Generator.objects.filter(paused=False))
    used = slots.used([keys.slots_generator(one.pk) for one in open_ones])
    waits = slots.rate_waits([rate_of(one) for one in open_ones])
    return [
        one.pk
        for one, count in zip(open_ones, used, strict=True)
        if count >= limit_in_force(one.pk, one.max_running, pressed)
        or one.pk in waits
        or (one.pk in pressed and pressed[one.pk].closed)
    ]


def rate_of(generator: Generator) -> slots.Rate:
    """Return the rate of a generator's upstream."""
    return slots.Rate(generator.pk, generator.rate_interval, generator.rate_burst)


def claim_next(pool: str, worker: str) -> Claim | None:
    """Claim the fairest task of the pool that may run now; None when there is none.

    Raises ``RedisError`` when slots cannot be taken, and database errors when the table
    cannot be reached; nothing is lost by either.
    """
    broken: set[UUID] = set()
    for _ in range(_ROUNDS):
        found = [one for one in candidates(pool) if one.candidate.task_id not in broken]
        if not found:
            return None
        claim_id, begun = uuid4(), time.monotonic()
        answer = slots.acquire(claim_id, [one.candidate for one in found])
        if answer.restore:
            rates = [rate_of(one) for one in Generator.objects.all()]
            slots.restore(running_holders(), answer.fence, rates)
        elif answer.vouch:
            _vouch(begun)
        elif answer.index is not None:
            claim = _start_unless_broken(found[answer.index], claim_id, worker, begun, broken)
            if claim is not None:
                return claim
        elif not answer.newly_full:
            return None
    return None


def _vouch(begun: float) -> None:
    """Hold on to the slots of everything that runs, and vouch for the sets."""
    for holder in running_holders():
        slots.extend(holder)
    slots.vouch(begun)


def running_holders() -> list[slots.Holder]:
    """Return every execution that has not been seen to stop, from the attempt table."""
    live = Attempt.objects.filter(ended_at__isnull=True).select_related("task")
    return [holder_of(attempt) for attempt in live]


def holder_of(attempt: Attempt) -> slots.Holder:
    """Return whose slots an attempt holds; ``attempt.task`` should be loaded."""
    return slots.Holder(
        attempt.claim_id, attempt.task_id, attempt.task.generator_id, attempt.owner_id
    )


def _start_unless_broken(
    pick: Pick, claim_id: UUID, worker: str, begun: float, broken: set[UUID]
) -> Claim | None:
    """Commit a claim; a task that cannot be claimed must not stand before all the others."""
    try:
        return _start(pick, claim_id, worker, begun)
    except (OperationalError, InterfaceError):
        raise  # the commit may have gone through: the slots live out their lease
    except Exception:
        logger.exception("task %s cannot be claimed", pick.candidate.task_id)
        broken.add(pick.candidate.task_id)
        effects.unclaimed(_holder(pick.candidate, claim_id))
        return None


def _holder(candidate: slots.Candidate, claim_id: UUID) -> slots.Holder:
    return slots.Holder(claim_id, candidate.task_id, candidate.generator_id, candidate.owner_id)


def _start(pick: Pick, claim_id: UUID, worker: str, begun: float) -> Claim | None:
    """Commit a claim whose slots were asked for at ``begun``; None: it lost its race."""
    holder = _holder(pick.candidate, claim_id)
    with transaction.atomic():
        claim = _commit(pick, holder, worker)
        if claim is None or time.monotonic() - begun > conf.get().slot_fence / 2:
            # Too slow: should Redis have lost the slots meanwhile, the fence may be over.
            transaction.set_rollback(True)
            claim = None
    if claim is None:
        effects.unclaimed(holder)
        return None
    _after(claim, pick)
    return claim


def _commit(pick: Pick, holder: slots.Holder, worker: str) -> Claim | None:
    """Write the claim; None, and the transaction is to be rolled back: it lost its race."""
    task = Task.objects.select_related("generator").filter(pk=holder.task_id).first()
    if task is None or task.state != State.PENDING or task.not_before is not None:
        return None
    fairness.lock_flows([task.flow_id, pick.turn])
    generator, now = task.generator, database_now()
    number = task.attempt_number + 1
    moved = move(
        task,
        State.RUNNING,
        EventKind.CLAIMED,
        data={"worker": worker},
        attempt_number=number,
        started_at=now,
        deadline_at=now + timedelta(seconds=generator.timeout_seconds),
        give_up_at=None,
        **_payment(task, pick),
    )
    if not moved:
        return None
    if pick.turn != task.flow_id:
        fairness.refresh_head(pick.turn)
    attempt = Attempt.objects.create(
        task=task,
        number=number,
        claim_id=holder.claim_id,
        generator_name=generator.name,
        owner_id=holder.owner_id,
        remote=is_remote(generator),
        worker=worker,
        started_at=now,
        heartbeat_at=now,
    )
    first = task.paid_tag is None
    task.refresh_from_db()
    return Claim(task, attempt, generator, holder, time.monotonic(), first)


def _payment(task: Task, pick: Pick) -> dict[str, Any]:
    """Let the flow whose turn it is pay, unless the task had started before."""
    if task.paid_tag is not None:
        return {}
    cost = task.generator.expected_seconds if task.cost is None else task.cost
    weighted = fairness.share(cost, pick.weight, pick.turn_priority)
    tag = fairness.pay(pick.turn, weighted)
    return {"paid_tag": tag, "share": weighted, "paid_by": pick.turn, "cost": cost}


def is_remote(generator: Generator) -> bool:
    """Whether the generator works elsewhere. An unknown adapter fails when it is executed."""
    try:
        return registry.adapter_class(generator.adapter).remote
    except registry.UnknownAdapter:
        return False


def _after(claim: Claim, pick: Pick) -> None:
    """Hold the slots for the full lease, move virtual time, tell readers, ring for the next.

    The claim has committed, so nothing here may keep the caller from running it: the first
    heartbeat makes up for what fails.
    """
    effects.claimed(claim.holder)
    try:
        if claim.first and claim.task.paid_tag is not None:
            fairness.advance(claim.task.pool, pick.turn_generator, claim.task.paid_tag)
        effects.changed(claim.task.pk)
    except (DatabaseError, InterfaceError) as error:
        logger.warning("could not follow up a claim: %s", error)
    bells.ring(claim.task.pool)
