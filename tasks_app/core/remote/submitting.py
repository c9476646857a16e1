"""Submitting: from a claimed task to a job upstream, once.

1. The worker's thread commits that the submission begins, with the token of its webhook and the
   setup that it is made with. Revoked by now: nothing is submitted.
2. The engine calls the upstream, outside of any transaction, with heartbeats meanwhile.
3. An id is committed whatever has become of the task, so that the job can be asked about, or
   canceled. A refusal puts the task back; an answer that says neither ends it, because the job may
   exist, unless the upstream can tell (``find``) or the operator says that repeating is free.

Who dies between 1 and 3 leaves an attempt without heartbeat: see ``maintenance.remote``.
"""

import asyncio
import logging
import secrets
import time
from dataclasses import dataclass
from typing import Final

from django.db import DatabaseError, InterfaceError
from redis.exceptions import RedisError

from tasks_app import bells, conf
from tasks_app.core import execution, outcomes, pressure, warm
from tasks_app.core.claim import Claim
from tasks_app.core.pressure import Fact
from tasks_app.core.remote import finishing, records, schedule, setups
from tasks_app.core.remote.engine import Engine, Flight, Kind
from tasks_app.core.remote.lines import SUBMIT_SECONDS, Line
from tasks_app.gates import slots
from tasks_app.generators.base import GenerationRequest
from tasks_app.generators.errors import Busy, GeneratorError, NoAnswer, Unsent
from tasks_app.generators.remote import (
    Job,
    RemoteAdapter,
    Submitted,
    UpstreamAnswer,
    pace_of,
)
from tasks_app.lifecycle import ErrorCode
from tasks_app.models import Attempt, Setup

logger = logging.getLogger(__name__)

LOOK_SECONDS: Final = 2.0
_MOST_ID: Final = 255
_RESTART_SECONDS: Final = 60.0
"""What a restart of an upstream may take, as long as failing questions must go on for."""
_SHUT_SECONDS: Final = 5.0
"""For who was claimed in the moment in which the circuit opened; the next claim sees that."""


@dataclass(frozen=True, slots=True)
class _Submission:
    claim: Claim
    attempt: Attempt
    setup: Setup
    adapter: RemoteAdapter
    token: str


def begin(claim: Claim, engine: Engine) -> None:
    """Begin the submission of a claimed task; returns as soon as that is committed."""
    try:
        adapter = warm.adapter(claim.generator)
        if not isinstance(adapter, RemoteAdapter):
            raise TypeError(f"{claim.generator.adapter} does not work elsewhere")
    except Exception as error:
        failure = execution.as_generator_error(claim, error)
        outcomes.failed(claim.attempt, failure.code, failure.detail, retryable=False)
        return
    if not pressure.may_submit(claim.generator):
        outcomes.refused(claim.attempt, "The model service is left alone.", _SHUT_SECONDS)
        return
    setup, token = setups.setup_of(claim.generator), secrets.token_urlsafe(24)
    if not records.started(claim.attempt, setup, token):
        outcomes.stopped(claim.attempt)
        return
    _hold(claim)
    submission = _Submission(claim, claim.attempt, setup, adapter, token)
    flight = Flight(
        claim.attempt,
        Kind.SUBMIT,
        claim.generator.pk,
        stoppable=adapter.synchronous,
        names=claim.names,
        private=tuple(execution.prompts(claim)),
    )
    engine.launch(flight, lambda: _submit(engine, submission))


def _hold(claim: Claim) -> None:
    """Hold the slots until the attempt must have ended: nobody renews them meanwhile."""
    try:
        slots.extend(claim.holder, lease=_seconds_left(claim) + conf.get().grace)
    except RedisError as error:
        logger.warning("could not hold slots: %s", error)


async def _submit(engine: Engine, submission: _Submission) -> None:
    try:
        await _sent(engine, submission)
    except TimeoutError:
        # The call has been broken off; whether the upstream noticed is not known, so that the
        # slots are kept for the grace.
        await _felt(engine, submission, Fact.FAILED)
        await engine.durably(outcomes.timed_out, submission.claim.task)
    except Busy as busy:
        await _felt(engine, submission, Fact.OURS if busy.ours else Fact.BUSY, busy.retry_after)
        await _refused(engine, submission, busy)
    except NoAnswer as error:
        await _felt(engine, submission, Fact.FAILED)
        await _unknown(engine, submission, error)
    except GeneratorError as error:
        await _felt(engine, submission, Fact.FAILED if error.retryable else Fact.TAKEN)
        await engine.durably(_fail, submission, error)
    except (DatabaseError, InterfaceError):
        raise  # it has been tried for long; who finds the attempt without heartbeat goes on
    except Exception as error:
        # A fault of our own, at a moment when the job may exist.
        failure = execution.as_generator_error(submission.claim, error)
        final = GeneratorError(failure.code, failure.detail)
        await engine.durably(_fail, submission, final)


async def _sent(engine: Engine, submission: _Submission) -> None:
    answer = await _answered(engine, submission)
    if isinstance(answer, Submitted):
        await _submitted(engine, submission, answer)
        await _felt(engine, submission, Fact.TAKEN)
    else:
        await _finished(engine, submission, answer)


async def _felt(
    engine: Engine, submission: _Submission, fact: Fact, retry_after: float | None = None
) -> None:
    """Note how the upstream bears up. What fails here must not keep the task from going on."""
    generator, begun = submission.claim.generator, submission.attempt.started_at
    try:
        await engine.in_database(pressure.note, generator, fact, begun, retry_after)
    except (DatabaseError, InterfaceError) as error:
        logger.warning("could not note how %s bears up: %s", generator.name, error)


async def _answered(engine: Engine, submission: _Submission) -> Submitted | UpstreamAnswer:
    """Call the upstream. Raises ``TimeoutError`` at the task's deadline."""
    claim, setup, adapter = submission.claim, submission.setup, submission.adapter
    left = _seconds_left(claim)
    usual = float(setup.settings.get("answer_seconds", SUBMIT_SECONDS))
    seconds = left + 1 if adapter.synchronous else min(usual, left)
    line = Line(engine.clients.single, claim.generator.name, adapter, setup.settings, seconds)
    request = GenerationRequest(
        task_id=str(claim.task.pk),
        attempt=claim.attempt.number,
        params=claim.task.params,
        settings=setup.settings,
        key=str(claim.attempt.pk),
    )
    url = setups.webhook_url(claim.generator.name, submission.token, setup)
    async with asyncio.timeout(left if adapter.synchronous else None):
        return await adapter.submit(line, request, url)


async def _submitted(engine: Engine, submission: _Submission, answer: Submitted) -> None:
    upstream_id = str(answer.upstream_id)
    if not 0 < len(upstream_id) <= _MOST_ID or not upstream_id.isprintable():
        raise NoAnswer("The model service named the job in a way that cannot be kept.")
    delay = await engine.durably(_first_delay, submission, answer)
    fate = await engine.durably(records.submitted, submission.attempt, upstream_id, delay)
    if fate.ended:
        # Declared over in the meantime, so nobody will ask about it any more.
        logger.warning("a submission was answered after its attempt had ended: canceling it")
        await _cancel(engine, submission, upstream_id)
    elif fate.revoked:
        await engine.in_database(bells.ring_polls, submission.claim.task.pool)


def _first_delay(submission: _Submission, answer: Submitted) -> float:
    generator, setup = submission.claim.generator, submission.setup
    pace = pace_of(submission.adapter, setup.settings)
    early = records.early_seconds(generator)
    rare = bool(setup.settings.get("webhooks", False))
    return schedule.first(pace, early, answer.poll_after, rare=rare)


async def _cancel(engine: Engine, submission: _Submission, upstream_id: str) -> None:
    task, setup = submission.claim.task, submission.setup
    job = Job(upstream_id, str(submission.attempt.pk), task.params, setup.settings)
    line = setups.line_of(engine.clients, setup, submission.claim.generator.name)
    try:
        await submission.adapter.cancel(line, job)
    except GeneratorError as error:
        logger.warning("the upstream could not be told to stop: %s", error)


async def _finished(engine: Engine, submission: _Submission, answer: UpstreamAnswer) -> None:
    """A synchronous upstream has answered with the result, or with why there is none."""
    if answer.error is not None:
        raise answer.error
    await _felt(engine, submission, Fact.TAKEN)
    line = Line(
        engine.clients.keeping,
        submission.claim.generator.name,
        submission.adapter,
        submission.setup.settings,
    )
    attempt, left = submission.attempt, _seconds_left(submission.claim)
    try:
        in_time = await finishing.finish_only_copy(engine, attempt, line, answer, left)
    except GeneratorError as error:  # it was made and paid for: making it anew is no cure
        raise GeneratorError(error.code, error.detail) from error
    if not in_time:  # the storage has refused it until now; upstream nothing goes on
        await engine.durably(outcomes.timed_out, submission.claim.task)
        await engine.durably(outcomes.stopped, attempt)


async def _refused(engine: Engine, submission: _Submission, busy: Busy) -> None:
    def end() -> None:
        delay = schedule.held_off(busy.retry_after, records.refusals(submission.attempt))
        outcomes.refused(submission.attempt, busy.detail, delay)

    if busy.ours:
        logger.error("generator %s: %s", submission.claim.generator.name, busy.detail)
    await engine.durably(end)


async def _unknown(engine: Engine, submission: _Submission, error: NoAnswer) -> None:
    attempt = submission.attempt
    if submission.adapter.finds or submission.setup.settings.get("webhooks", False):
        # Whoever asks upstreams asks there, or waits for a webhook with the id, for a lease.
        logger.warning("a submission was not answered; looking for it: %s", error.detail)
        await engine.durably(records.look_again, attempt, LOOK_SECONDS)
    elif submission.setup.settings.get("free_to_repeat", False):
        again = GeneratorError(ErrorCode.UPSTREAM_ERROR, error.detail, retryable=True)
        await engine.durably(_fail, submission, again)
    else:
        await engine.durably(_fail, submission, error)


def _fail(submission: _Submission, error: GeneratorError) -> None:
    """Write a failure; what may be tried again costs one of the generator's retries.

    Nobody listens while an upstream is started anew, so the last try then comes after that.
    """
    generator, at_least = submission.claim.generator, 0.0
    if error.retryable and not pressure.take_retry(generator):
        at_least = pressure.RETRY_SECONDS
    left = generator.failure_budget - submission.claim.task.failures - 1
    if isinstance(error, Unsent) and left == 1:
        at_least = max(at_least, _RESTART_SECONDS)
    outcomes.failed(
        submission.attempt,
        error.code,
        error.detail,
        retryable=error.retryable,
        at_least=at_least,
    )


def _seconds_left(claim: Claim) -> float:
    """Seconds until the deadline, on this process' clock."""
    return max(0.0, claim.started + claim.generator.timeout_seconds - time.monotonic())
