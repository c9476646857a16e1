"""What holds now of a task that has not come to rest: why it waits, what it holds, who runs it.

Read anew for each look at the page. An absent Redis leaves gaps and says so.
"""

import logging
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.utils.translation import gettext as _

from tasks_app import conf
from tasks_app.admin import afar, words
from tasks_app.admin.rows import Row
from tasks_app.core import accounts, queries
from tasks_app.core.clock import database_now
from tasks_app.core.errors import NotFound
from tasks_app.gates import keys, refusals, slots, workers
from tasks_app.gates.connection import RedisError
from tasks_app.lifecycle import State
from tasks_app.models import Attempt, Task

logger = logging.getLogger(__name__)

_LATE_BEATS: Final = 1.0
"""Leases without a heartbeat after which the sweep takes an attempt for lost."""


@dataclass(frozen=True, slots=True)
class _Scope:
    """A set of slots: who holds one, of how many."""

    label: str
    holders: frozenset[object]
    limit: int


def rows(task: Task) -> list[Row]:
    """Return everything that helps to judge a live task, or an execution that does not stop."""
    live = Attempt.objects.filter(task_id=task.pk, ended_at__isnull=True)
    executing = live.select_related("setup").order_by("number").last()
    if task.terminal and executing is None:
        return []
    now, scopes = database_now(), _scopes(task)
    found = [] if task.terminal else _queue(task, now)
    if executing is not None:
        found += _execution(task, executing, now)
    return found + _slots(scopes, executing)


def _queue(task: Task, now: datetime) -> list[Row]:
    if task.state == State.RUNNING:
        late = task.deadline_at is not None and task.deadline_at < now
        return [Row(_("Deadline"), words.moment(task.deadline_at, now), late), *_storage()]
    reason, position = _presence(task)
    found = [
        Row(_("Why it waits"), words.wait(reason), reason not in (None, "slots", "your_limit")),
        Row(_("Waits since"), words.moment(task.created_at, now)),
        Row(_("Gives up at"), words.moment(task.give_up_at, now)),
    ]
    if position is not None:
        found.insert(1, Row(_("Place in line"), str(position)))
    if task.not_before is not None:
        found.append(Row(_("Not before"), words.moment(task.not_before, now)))
    return [*found, _workers(task.pool)]


def _storage() -> list[Row]:
    try:
        if not refusals.known():
            return []
    except RedisError as error:
        logger.warning("whether the storage refuses is unknown: %s", error)
        return []
    text = _("The storage of results refuses: what is made waits, until the deadline.")
    return [Row(_("Its result"), text, bad=True)]


def _presence(task: Task) -> tuple[str | None, int | None]:
    try:
        document = queries.view(task.pk, task.owner_id).document
    except NotFound:  # it has just been archived
        return None, None
    return document["waiting_for"], document["queue_position"]


def _workers(pool: str) -> Row:
    label = _("Workers of its pool")
    try:
        number = workers.count(pool)
    except RedisError as error:
        logger.warning("workers are unknown: %s", error)
        return Row(label, _("Redis does not answer."), bad=True)
    return Row(label, str(number), bad=number == 0)


def _execution(task: Task, attempt: Attempt, now: datetime) -> list[Row]:
    if attempt.next_poll_at is None:
        found = _by_worker(task, attempt, now)
    else:
        found = afar.rows(attempt, now)
    found.append(Row(_("Progress"), f"{round(100 * attempt.progress)} %"))
    if attempt.revoked_at is not None:
        told = words.moment(attempt.revoked_at, now)
        found.append(Row(_("Told to stop, still executing"), told, bad=True))
    return found


def _by_worker(task: Task, attempt: Attempt, now: datetime) -> list[Row]:
    silent = (now - attempt.heartbeat_at).total_seconds() > conf.get().lease * _LATE_BEATS
    return [
        Row(_("Worker"), f"{attempt.worker} ({_sign(task.pool, attempt.worker)})"),
        Row(_("Last heartbeat"), words.moment(attempt.heartbeat_at, now), silent),
    ]


def _sign(pool: str, name: str) -> str:
    try:
        seconds = dict(workers.signs(pool)).get(name)
    except RedisError:
        return _("Redis does not answer.")
    if seconds is None:
        return _("gives no sign of life")
    return _("sign of life %(span)s ago") % {"span": words.span(seconds)}


def _scopes(task: Task) -> list[_Scope] | None:
    limits = accounts.limits_of(accounts.account_of(task.owner))
    wanted = (
        (_("all together"), keys.slots_all(), conf.get().limit_all),
        (_("generator"), keys.slots_generator(task.generator_id), task.generator.max_running),
        (_("owner"), keys.slots_owner(task.owner_id), limits.max_running),
    )
    try:
        return [
            _Scope(label, frozenset(slots.members(scope)), limit) for label, scope, limit in wanted
        ]
    except RedisError as error:
        logger.warning("slots are unknown: %s", error)
        return None


def _slots(scopes: list[_Scope] | None, attempt: Attempt | None) -> list[Row]:
    if scopes is None:
        return [Row(_("Slots"), _("Redis does not answer."), bad=True)]
    taken = " · ".join(f"{one.label} {len(one.holders)} / {one.limit}" for one in scopes)
    full = any(len(one.holders) >= one.limit for one in scopes)
    found = [Row(_("Slots taken"), taken, bad=full and attempt is None)]
    if attempt is not None:
        held = [one.label for one in scopes if attempt.claim_id in one.holders]
        text = " · ".join(held) or _("none")
        found.append(Row(_("Slots it holds"), text, bad=len(held) < len(scopes)))
    return found
