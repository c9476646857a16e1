"""How attempts end: each ending is one transaction, and may be tried by several at once.

Worker, sweep, cancel and (later) polls and webhooks call these. Whoever comes second changes
nothing and is told so. An attempt's ``ended_at`` says that its execution was seen to have
stopped; only then are its slots given back.
"""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now

from tasks_app import bells, conf
from tasks_app.core import accounts, effects, fairness
from tasks_app.core.claim import holder_of
from tasks_app.core.clock import database_now, written_now
from tasks_app.core.decisions import (
    Again,
    Over,
    after_error,
    after_interruption,
    after_loss,
    after_refusal,
)
from tasks_app.core.seen import Seen
from tasks_app.core.transitions import move, move_many, record
from tasks_app.lifecycle import ErrorCode, EventKind, Outcome, State
from tasks_app.models import Artifact, Attempt, Task


def succeeded(attempt: Attempt, artifacts: Sequence[Artifact]) -> bool:
    """The attempt made its pictures. Returns False when the task had ended otherwise."""
    with transaction.atomic():
        # No way back into the queue from here, so the flow's lock is not needed.
        task = _still_running(attempt)
        won = task is not None and _finish_with_result(task, artifacts)
        if _end(attempt, Outcome.SUCCESS if won else Outcome.REVOKED) and not won:
            record(attempt.task, EventKind.LATE_RESULT, attempt.number)
        won = won or _was_ours(attempt)
    _settled(attempt)
    return won


def failed(
    attempt: Attempt, code: ErrorCode, detail: str, *, retryable: bool, at_least: float = 0.0
) -> bool:
    """The attempt failed. Returns False when the task had ended, or was taken away, before.

    ``at_least``: seconds until it may be tried again, if it may be.
    """
    with transaction.atomic():
        task = _task_of(attempt)
        moved = False
        if task is not None:
            decision = after_error(
                code,
                retryable=retryable,
                failures=task.failures + 1,
                budget=task.generator.failure_budget,
                attempts=task.attempt_number,
                cap=conf.get().max_attempts,
            )
            if isinstance(decision, Again):
                decision = Again(max(decision.delay, at_least))
            moved = _follow(task, decision, detail, spent=1, reason=str(code))
        _end(attempt, Outcome.ERROR if moved else Outcome.REVOKED, code, detail)
    _settled(attempt)
    return moved


def interrupted(attempt: Attempt) -> bool:
    """The worker stops in an orderly way in the middle: the task waits again, at no cost."""
    with transaction.atomic():
        task = _task_of(attempt)
        moved = False
        if task is not None:
            decision = after_interruption(attempts=task.attempt_number, cap=conf.get().max_attempts)
            moved = _follow(task, decision, "", spent=0, reason="worker stopped")
        _end(attempt, Outcome.INTERRUPTED if moved else Outcome.REVOKED)
    _settled(attempt)
    return moved


def refused(attempt: Attempt, detail: str, delay: float) -> bool:
    """The upstream takes nothing now: the task waits ``delay`` seconds at least, at no cost."""
    with transaction.atomic():
        task = _task_of(attempt)
        moved = False
        if task is not None:
            decision = after_refusal(
                delay, attempts=task.attempt_number, cap=conf.get().max_attempts
            )
            moved = _follow(task, decision, detail, spent=0, reason="upstream busy")
        _end(attempt, Outcome.REFUSED if moved else Outcome.REVOKED, detail=detail)
    _settled(attempt)
    return moved


def lost(attempt: Attempt) -> bool:
    """No sign of life for a lease: the task waits again, or has lost too many workers.

    ``attempt`` is as the caller read it; a heartbeat since then shows that its worker lives,
    and nothing is changed.
    """
    with transaction.atomic():
        task = _task_of(attempt)
        moved = False
        if task is not None:
            decision = after_loss(
                failures=task.failures + 1,
                budget=task.generator.failure_budget,
                attempts=task.attempt_number,
                cap=conf.get().max_attempts,
            )
            moved = _follow(task, decision, "", spent=1, reason="worker lost")
        if not _end(attempt, Outcome.LOST, heartbeat_at=attempt.heartbeat_at):
            transaction.set_rollback(True)
            return False
        if not moved:
            record(attempt.task, EventKind.ATTEMPT_ENDED, attempt.number, {"reason": "worker lost"})
    _settled(attempt)
    return moved


def stopped(attempt: Attempt) -> None:
    """An execution that was told to stop has stopped: its slots are free."""
    with transaction.atomic():
        if _end(attempt, Outcome.REVOKED):
            record(attempt.task, EventKind.ATTEMPT_ENDED, attempt.number)
    _settled(attempt)


def timed_out(task: Seen, *, told: Mapping[str, str] | None = None) -> bool:
    """A deadline has passed: the running one, or the longest wait in the queue."""
    return bool(timed_out_many([task], told=told))


def timed_out_many(tasks: Sequence[Seen], *, told: Mapping[str, str] | None = None) -> list[UUID]:
    """Deadlines have passed, of tasks that were read in one state; see ``end_many``."""
    if not tasks:
        return []
    running = tasks[0].state == State.RUNNING
    code = ErrorCode.DEADLINE_EXCEEDED if running else ErrorCode.WAITED_TOO_LONG
    return end_many(tasks, State.TIMEOUT, EventKind.TIMED_OUT, code, told=told)


def end_now(
    task: Seen,
    target: State,
    event: EventKind,
    code: ErrorCode,
    *,
    told: Mapping[str, str] | None = None,
) -> bool:
    """End a live task from outside. A running attempt is told to stop and keeps its slots.

    ``told`` is what the history says besides the code: who did it.
    Returns False when the task has ended or changed since it was read.
    """
    return bool(end_many([task], target, event, code, told=told))


def end_many(
    tasks: Sequence[Seen],
    target: State,
    event: EventKind,
    code: ErrorCode,
    *,
    told: Mapping[str, str] | None = None,
) -> list[UUID]:
    """End live tasks, read in one state, from outside and at once: each as ``end_now`` does.

    One transaction, in which all of them end or none. Returns the ids of those that ended: not
    those that had ended or changed since they were read, nor (of several) those that somebody
    else holds at this moment.
    """
    live = [task for task in tasks if not task.terminal]
    data = {"code": code.value, **(told or {})}
    with transaction.atomic():
        moved = move_many(live, target, event, data=data, error_code=code.value)
        revoked = _revoke(moved)
    if moved:
        _ended_outside(moved, revoked, event)
    return [task.pk for task in moved]


def _ended_outside(tasks: Sequence[Seen], revoked: Sequence[Attempt], event: EventKind) -> None:
    """After the commit: readers, what was paid, the workers and whoever asks upstreams."""
    effects.ended(tasks)
    going_on = {attempt.task_id for attempt in revoked}
    paid = [task.pk for task in tasks if task.paid_by is not None and task.pk not in going_on]
    effects.settled(paid)
    effects.revoked([attempt.claim_id for attempt in revoked], event.value)
    remote = {attempt.task_id for attempt in revoked if attempt.remote}
    for pool in sorted({task.pool for task in tasks if task.pk in remote}):
        bells.ring_polls(pool)


# --- the pieces ----------------------------------------------------------------------------


def _task_of(attempt: Attempt) -> Task | None:
    """Return the task if this attempt is still the one that may change it.

    The flow is locked first, as everywhere: a change back to pending needs it.
    """
    fairness.lock_flow(attempt.task.flow_id)
    return _still_running(attempt)


def _still_running(attempt: Attempt) -> Task | None:
    return (
        Task.objects.select_related("generator")
        .filter(pk=attempt.task_id, state=State.RUNNING, attempt_number=attempt.number)
        .first()
    )


def _finish_with_result(task: Task, artifacts: Sequence[Artifact]) -> bool:
    lifetime = accounts.limits_of_owner(task.owner_id).kept
    return move(
        task,
        State.SUCCESS,
        EventKind.SUCCEEDED,
        data={"artifacts": len(artifacts)},
        artifacts=artifacts,
        result_count=len(artifacts),
        result_expires_at=written_now() + lifetime,
    )


def _follow(task: Task, decision: Again | Over, detail: str, *, spent: int, reason: str) -> bool:
    """Carry a decision out: back into the queue, or failed."""
    data: dict[str, Any] = {"reason": reason}
    if detail:
        data["detail"] = detail
    if isinstance(decision, Over):
        return move(
            task,
            State.FAILED,
            EventKind.FAILED,
            data=data,
            error_code=decision.code.value,
            error_detail=detail,
            failures=F("failures") + spent,
        )
    now = database_now()
    return move(
        task,
        State.PENDING,
        EventKind.REQUEUED,
        data=data,
        failures=F("failures") + spent,
        deadline_at=None,
        not_before=now + timedelta(seconds=decision.delay) if decision.delay > 0 else None,
        give_up_at=now + timedelta(seconds=task.max_wait + decision.delay),
    )


def _end(
    attempt: Attempt,
    outcome: Outcome,
    code: ErrorCode | None = None,
    detail: str = "",
    **expected: Any,
) -> bool:
    """End the attempt's row if it has not ended and its columns are as ``expected``."""
    rows = Attempt.objects.filter(pk=attempt.pk, ended_at__isnull=True, **expected).update(
        ended_at=written_now(),
        outcome=outcome.value,
        error_code=code.value if code else "",
        error_detail=detail,
        next_poll_at=None,
    )
    return rows == 1


def _revoke(tasks: Sequence[Seen]) -> list[Attempt]:
    """Tell the live attempts of tasks, which the caller holds, to stop; returns them."""
    begun = [task.pk for task in tasks if task.attempt_number > 0]
    if not begun:
        return []
    current = Attempt.objects.filter(
        task_id__in=begun,
        number=F("task__attempt_number"),
        ended_at__isnull=True,
    )
    held = list(current.order_by("pk").select_for_update(of=("self",), no_key=True))
    if held:
        live = Attempt.objects.filter(pk__in=[attempt.pk for attempt in held])
        live.filter(revoked_at__isnull=True).update(revoked_at=written_now())
        # What was submitted is looked at now, to be canceled upstream.
        live.exclude(upstream_id="").update(next_poll_at=Now())
    return held


def _was_ours(attempt: Attempt) -> bool:
    """Whether an earlier try of the same commit went through although nobody was told."""
    outcome = Attempt.objects.filter(pk=attempt.pk).values_list("outcome", flat=True).get()
    return outcome == Outcome.SUCCESS


def _settled(attempt: Attempt) -> None:
    effects.changed(attempt.task_id)
    effects.settled([attempt.task_id])
    effects.freed(holder_of(attempt), attempt.task.pool)
