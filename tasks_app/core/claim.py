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
from dataclasses import dataclass
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
from tasks_app.core import effects, fairness
from tasks_app.core.clock import database_now
from tasks_app.core.transitions import move
from tasks_app.gates import keys, slots
from tasks_app.generators import registry
from tasks_app.lifecycle import EventKind, State
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

    @property
    def names(self) -> dict[str, object]:
        """What log lines of this execution are about."""
        return {
            "task": self.task.pk,
            "attempt": self.attempt.number,
            "request": self.task.request_id,
            "generator": self.generator.name,
        }


_CANDIDATES = """
SELECT task.id, generator.id, generator.max_running, flow.owner_id,
       COALESCE(account.max_running, plan.max_running)
FROM tasks_app_generator AS generator
CROSS JOIN LATERAL (
    SELECT id, owner_id, head_tag FROM tasks_app_flow
    WHERE pool = %(pool)s AND generator_id = generator.id AND head_tag IS NOT NULL
      AND owner_id NOT IN (SELECT unnest(%(full_owners)s::bigint[]))
    ORDER BY head_tag LIMIT %(flows)s
) AS flow
CROSS JOIN LATERAL (
    SELECT id, tag FROM tasks_app_task
    WHERE flow_id = flow.id AND state = 'pending' AND not_before IS NULL
    ORDER BY tag, id LIMIT %(tasks)s
) AS task
JOIN tasks_app_account AS account ON account.user_id = flow.owner_id
JOIN tasks_app_plan AS plan ON plan.id = account.plan_id
WHERE NOT generator.paused AND NOT generator.id = ANY(%(full_generators)s::uuid[])
ORDER BY task.tag, task.id
"""


def candidates(pool: str) -> list[slots.Candidate]:
    """Read the tasks that could start next, in fair order."""
    values: dict[str, Any] = {
        "pool": pool,
        "full_owners": slots.full_owners(),
        "full_generators": full_generators(),
        "flows": _FLOWS_PER_GENERATOR,
        "tasks": _TASKS_PER_FLOW,
    }
    with connection.cursor() as cursor:
        cursor.execute(_CANDIDATES, values)
        return [slots.Candidate(*row) for row in cursor.fetchall()]


def full_generators() -> list[UUID]:
    """Generators without a free slot: their flows need not be read."""
    limits = list(Generator.objects.filter(paused=False).values_list("pk", "max_running"))
    used = slots.used([keys.slots_generator(pk) for pk, _ in limits])
    return [pk for (pk, limit), count in zip(limits, used, strict=True) if count >= limit]


def claim_next(pool: str, worker: str) -> Claim | None:
    """Claim the fairest task of the pool that may run now; None when there is none.

    Raises ``RedisError`` when slots cannot be taken, and database errors when the table
    cannot be reached; nothing is lost by either.
    """
    broken: set[UUID] = set()
    for _ in range(_ROUNDS):
        found = [one for one in candidates(pool) if one.task_id not in broken]
        if not found:
            return None
        claim_id, begun = uuid4(), time.monotonic()
        answer = slots.acquire(claim_id, found)
        if answer.restore:
            slots.restore(running_holders(), answer.fence)
        elif answer.index is not None:
            claim = _start_unless_broken(found[answer.index], claim_id, worker, begun, broken)
            if claim is not None:
                return claim
        elif not answer.newly_full:
            return None
    return None


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
    candidate: slots.Candidate, claim_id: UUID, worker: str, begun: float, broken: set[UUID]
) -> Claim | None:
    """Commit a claim; a task that cannot be claimed must not stand before all the others."""
    try:
        return _start(candidate, claim_id, worker, begun)
    except (OperationalError, InterfaceError):
        raise  # the commit may have gone through: the slots live out their lease
    except Exception:
        logger.exception("task %s cannot be claimed", candidate.task_id)
        broken.add(candidate.task_id)
        effects.unclaimed(_holder(candidate, claim_id))
        return None


def _holder(candidate: slots.Candidate, claim_id: UUID) -> slots.Holder:
    return slots.Holder(claim_id, candidate.task_id, candidate.generator_id, candidate.owner_id)


def _start(candidate: slots.Candidate, claim_id: UUID, worker: str, begun: float) -> Claim | None:
    """Commit a claim whose slots were asked for at ``begun``; None: it lost its race."""
    holder = _holder(candidate, claim_id)
    with transaction.atomic():
        claim = _commit(holder, worker)
        if time.monotonic() - begun > conf.get().slot_fence / 2:
            # Too slow: should Redis have lost the slots meanwhile, the fence may be over.
            transaction.set_rollback(True)
            claim = None
    if claim is None:
        effects.unclaimed(holder)
        return None
    _after(claim)
    return claim


def _commit(holder: slots.Holder, worker: str) -> Claim | None:
    task = Task.objects.select_related("generator").filter(pk=holder.task_id).first()
    if task is None or task.state != State.PENDING or task.not_before is not None:
        return None
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
    )
    if not moved:
        return None
    attempt = Attempt.objects.create(
        task=task,
        number=number,
        claim_id=holder.claim_id,
        generator_name=generator.name,
        owner_id=holder.owner_id,
        remote=_is_remote(generator),
        worker=worker,
        started_at=now,
        heartbeat_at=now,
    )
    task.refresh_from_db()
    return Claim(task, attempt, generator, holder, time.monotonic())


def _is_remote(generator: Generator) -> bool:
    """Whether the generator works elsewhere. An unknown adapter fails when it is executed."""
    try:
        return registry.adapter_class(generator.adapter).remote
    except registry.UnknownAdapter:
        return False


def _after(claim: Claim) -> None:
    """Hold the slots for the full lease, move virtual time, tell readers, ring for the next.

    The claim has committed, so nothing here may keep the caller from running it: the first
    heartbeat makes up for what fails.
    """
    effects.claimed(claim.holder)
    try:
        fairness.advance(claim.task.pool, claim.task.tag)
        effects.changed(claim.task.pk)
    except (DatabaseError, InterfaceError) as error:
        logger.warning("could not follow up a claim: %s", error)
    bells.ring(claim.task.pool)
