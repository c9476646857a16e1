"""Submission: from a caller's wish to a row that cannot be lost.

Order (design, section 6): the idempotency key first, before validation, so that a replay
survives a changed schema; then the parameters and what the plan allows to ask for; then one
transaction that inserts the key, locks the account, spends the limits and inserts the task. A
refusal rolls everything back, so it costs nothing. Redis is not needed: snapshot and bell follow
the commit, and the ticker rings for what nobody rang for.
"""

import hashlib
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import orjson
from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from tasks_app import conf
from tasks_app.core import accounts, callbacks, costs, effects, fairness, limits, params, quotas
from tasks_app.core.accounts import Limits
from tasks_app.core.clock import database_now
from tasks_app.core.errors import FieldError, Invalid, LimitState, Refusal, Unavailable
from tasks_app.core.transitions import record
from tasks_app.lifecycle import EventKind, Priority
from tasks_app.models import Account, Generator, IdempotencyKey, Task, new_id

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Wish:
    """What a caller asks for, parsed but not yet judged against the generator."""

    generator: str
    params: object
    priority: Priority | None = None
    """None: normal, or the highest that the plan allows if that is less."""
    max_wait: float | None = None
    allow_degraded: bool = False
    metadata: Mapping[str, Any] = field(default_factory=dict)
    idempotency_key: str | None = None
    request_id: str = ""
    retry_of: UUID | None = None
    callback_url: str = ""
    callback_running: bool = False

    def fingerprint(self) -> str:
        """Return the SHA-256 of the canonical wish: what the same key must ask for again."""
        body = {
            "generator": self.generator,
            "params": self.params,
            "priority": (self.priority or Priority.NORMAL).value,
            "max_wait": self.max_wait,
            "allow_degraded": self.allow_degraded,
            "metadata": dict(self.metadata),
            "retry_of": str(self.retry_of) if self.retry_of else None,
        }
        if self.callback_url:  # keys of a release without callbacks stand for the same wish
            body |= {"callback_url": self.callback_url, "running": self.callback_running}
        return hashlib.sha256(orjson.dumps(body, option=orjson.OPT_SORT_KEYS)).hexdigest()


@dataclass(frozen=True, slots=True)
class Submission:
    """What came of a wish: its task's id, whether an earlier one was reused, what limits leave."""

    task_id: UUID
    reused: bool
    limits: tuple[LimitState, ...] = ()


def submit(user: AbstractBaseUser, wish: Wish) -> Submission:
    """Accept a wish, or raise a ``Refusal``. Simultaneous duplicates all get the same task."""
    if wish.idempotency_key is not None:
        earlier = _replay(user, wish)
        if earlier is not None:
            return earlier
    account = accounts.account_of(user)
    allowed = accounts.limits_of(account)
    generator = _offered(account, wish.generator)
    values = _validated(generator, wish, allowed)
    _check_plan(wish, values, allowed)
    if wish.callback_url:
        callbacks.check(wish.callback_url, "/callback_url")
    with transaction.atomic():
        outcome = _accept(user, wish, generator, values)
    if not outcome.reused:
        effects.accepted(outcome.task_id, generator.pool)
    return outcome


def resubmit(user: AbstractBaseUser, task: Task, key: str | None, request_id: str) -> Submission:
    """Submit an ended task's request once more, as a new task that names the old one.

    It is judged by the limits of now. Only what the first request need not have named, the
    longest wait and a normal priority, is brought within them instead of being refused.
    """
    if not task.terminal:
        raise Invalid(
            [FieldError("", "Only a task that has ended can be retried.", "not_finished")],
            code="not_finished",
        )
    priority = Priority(task.priority)
    wish = Wish(
        generator=task.generator.name,
        params=task.params,
        priority=None if priority is Priority.NORMAL else priority,
        max_wait=task.max_wait,
        allow_degraded=task.allow_degraded,
        metadata=task.metadata,
        idempotency_key=key,
        request_id=request_id,
        retry_of=task.pk,
        callback_url=task.callback_url,
        callback_running=task.callback_running,
    )
    return submit(user, wish)


def _accept(
    user: AbstractBaseUser, wish: Wish, generator: Generator, values: dict[str, Any]
) -> Submission:
    """Insert key and task within the caller's transaction."""
    task_id = new_id()
    if wish.idempotency_key is not None:
        taken = _take_key(user, wish, task_id)
        if taken is not None:
            return taken
    account = _locked_account(user)
    now = database_now()
    allowed = accounts.limits_of(account)
    left = limits.spend(account, allowed, now)
    task = _insert(user, wish, generator, values, allowed, task_id, now)
    record(task, EventKind.SUBMITTED, 0, {"request_id": wish.request_id})
    quotas.count(user.pk, now)  # the last lock: an ending takes it after the flow's and the task's
    return Submission(task_id, reused=False, limits=left)


def _insert(
    user: AbstractBaseUser,
    wish: Wish,
    generator: Generator,
    values: dict[str, Any],
    allowed: Limits,
    task_id: UUID,
    now: datetime,
) -> Task:
    cost = costs.expected(generator, values)
    priority = wish.priority or allowed.usual_priority
    place = fairness.enter(generator, user.pk, priority)
    max_wait = _longest_wait(wish, allowed)
    return Task.objects.create(
        id=task_id,
        owner_id=user.pk,
        generator=generator,
        flow_id=place.flow_id,
        pool=generator.pool,
        priority=priority.value,
        params=values,
        metadata=dict(wish.metadata),
        allow_degraded=wish.allow_degraded,
        request_id=wish.request_id,
        retry_of=wish.retry_of,
        callback_url=wish.callback_url,
        callback_running=wish.callback_running,
        tag=place.tag,
        share=0.0,
        cost=cost,
        max_wait=max_wait,
        created_at=now,
        give_up_at=now + timedelta(seconds=max_wait),
    )


def _longest_wait(wish: Wish, allowed: Limits) -> float:
    """Return for how many seconds the task may wait."""
    if wish.max_wait is None:
        return allowed.longest_wait
    return wish.max_wait if allowed.max_wait is None else min(wish.max_wait, allowed.max_wait)


def _offered(account: Account, name: str) -> Generator:
    found = accounts.offered_to(account).filter(name=name).first()
    if found is None:
        raise Invalid(
            [FieldError("/generator", "There is no such generator.", "unknown_generator")]
        )
    return found


def _check_plan(wish: Wish, values: Mapping[str, Any], allowed: Limits) -> None:
    """Refuse what is above the plan: nothing that was asked for is changed in silence."""
    found = params.beyond(values, allowed)
    if wish.priority is not None and wish.priority not in allowed.priorities:
        words = ", ".join(allowed.priorities)
        found.append(
            FieldError("/priority", f"Your plan allows these priorities: {words}.", "above_plan")
        )
    most = allowed.max_wait
    if most is not None and (wish.max_wait or 0) > most and wish.retry_of is None:
        found.append(
            FieldError("/max_wait", f"Your plan allows at most {most:g} seconds.", "above_plan")
        )
    if found:
        raise Invalid(found)


def _validated(generator: Generator, wish: Wish, allowed: Limits) -> dict[str, Any]:
    try:
        return params.validated(generator, wish.params, allowed)
    except Refusal:
        raise
    except (Exception, SystemExit) as error:
        # Whatever its code raises, it is not the caller's fault.
        logger.error(
            "generator %s cannot take tasks: %s: %s", generator.name, type(error).__name__, error
        )
        raise Unavailable(
            "This generator is not set up correctly; its operator has to repair it.",
            code="generator_unavailable",
        ) from error


# --- idempotency ---------------------------------------------------------------------------


def _replay(user: AbstractBaseUser, wish: Wish) -> Submission | None:
    """Return the submission that this key stands for, if it stands for one."""
    held = IdempotencyKey.objects.filter(
        user_id=user.pk, key=wish.idempotency_key, expires_at__gt=database_now()
    ).first()
    return _same(held, wish) if held else None


def _take_key(user: AbstractBaseUser, wish: Wish, task_id: UUID) -> Submission | None:
    """Insert the key, or return what it stands for.

    The insert waits for a simultaneous one to commit or roll back; an expired row is taken
    over in the same statement.
    """
    now = database_now()
    lifetime = timedelta(hours=conf.get().idempotency_hours)
    key = IdempotencyKey(
        user_id=user.pk,
        key=wish.idempotency_key or "",
        fingerprint=wish.fingerprint(),
        task_id=task_id,
        created_at=now,
        expires_at=now + lifetime,
    )
    IdempotencyKey.objects.filter(
        user_id=user.pk, key=wish.idempotency_key, expires_at__lte=now
    ).delete()
    IdempotencyKey.objects.bulk_create([key], ignore_conflicts=True)
    held = IdempotencyKey.objects.get(user_id=user.pk, key=wish.idempotency_key)
    return None if held.task_id == task_id else _same(held, wish)


def _same(held: IdempotencyKey, wish: Wish) -> Submission:
    if held.fingerprint != wish.fingerprint():
        raise Invalid(
            [
                FieldError(
                    "/idempotency_key",
                    "This key was used for a different request.",
                    "idempotency_key_reused",
                )
            ],
            code="idempotency_key_reused",
        )
    return Submission(held.task_id, reused=True)


# --- the account ---------------------------------------------------------------------------


def _locked_account(user: AbstractBaseUser) -> Account:
    row = (
        Account.objects.select_for_update(of=("self",))
        .select_related("plan")
        .filter(user_id=user.pk)
    )
    found = row.first()
    if found is None:
        accounts.account_of(user)
        found = row.get()
    return found
