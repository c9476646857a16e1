"""Asking: what follows for submitted attempts whose time has come.

A bell for a pool's submitted work makes one round: due attempts are taken, so that nobody else
asks about them for the length of a lease, and each is a flight of the engine. What an upstream
answers is applied by compare-and-set and sets the next due time. A question that fails is not a
task that fails; several in a row that span a minute are. A busy upstream, and a credential that it
does not accept, do not count: whoever repairs that gets his results.

An attempt that was told to stop is canceled upstream first, then asked about until the upstream
has been seen to have ended; ``sweep.end_silent_revoked`` ends it after the grace in any case.
"""

import logging
import time
from typing import Final

from django.db import DatabaseError, InterfaceError
from redis.exceptions import RedisError

from tasks_app import conf, metrics
from tasks_app.core import outcomes
from tasks_app.core.clock import database_now
from tasks_app.core.remote import finishing, keeping, records, schedule, setups
from tasks_app.core.remote.engine import Engine, Flight, Kind
from tasks_app.core.remote.lines import Line
from tasks_app.generators.errors import Busy, CannotTell, GeneratorError, NoAnswer, Unheard
from tasks_app.generators.registry import UnknownAdapter
from tasks_app.generators.remote import Job, Pace, RemoteAdapter, Submitted, UpstreamAnswer, pace_of
from tasks_app.lifecycle import ErrorCode
from tasks_app.models import Attempt, Setup, Webhook
from tasks_app.results.store import StorageRefused

logger = logging.getLogger(__name__)

ROUND_SECONDS: Final = 5.0
_BATCH: Final = 100
_PLACES: Final = 16
"""Of a full engine that are free before more is taken: not a statement for each place."""
_SHARE: Final = 0.5
"""The part of all room that questions about one generator may take: a slow one delays no other."""
_LOOK_SECONDS: Final = 0.5
"""Between two looks for what others have due, while one generator is waited for."""
_STOPPING_PAUSE: Final = 1.0


def round_of(pool: str, engine: Engine) -> int:
    """Take what is due in a pool and ask about it; returns how many attempts were taken.

    Goes on while there is more and room for it, for at most ``ROUND_SECONDS``.
    """
    number, give_up = 0, time.monotonic() + ROUND_SECONDS
    while (left := give_up - time.monotonic()) > 0:
        if not engine.wait_for_room(left, _PLACES):
            break
        crowded = engine.crowded(_SHARE)
        found = records.take(pool, min(_BATCH, engine.room), crowded)
        for taken in found:
            metrics.observe(metrics.POLL_LATENESS, max(0.0, taken.late), pool)
            _launch(engine, taken)
        number += len(found)
        if found:
            continue
        if not crowded:
            break
        engine.wait_for_less(crowded, _SHARE, min(left, _LOOK_SECONDS))
    return number


def _launch(engine: Engine, taken: records.Taken) -> None:
    attempt, task = taken.attempt, taken.attempt.task
    flight = Flight(
        attempt,
        Kind.QUESTION,
        task.generator_id,
        names={
            "task": task.pk,
            "attempt": attempt.number,
            "request": task.request_id,
            "generator": attempt.generator_name,
        },
    )
    engine.launch(flight, lambda: _Question(engine, taken).run())


class _Question:
    """One taken attempt, from the question to what follows."""

    def __init__(self, engine: Engine, taken: records.Taken) -> None:
        self._engine, self._taken = engine, taken
        self._attempt, self._age = taken.attempt, taken.age

    async def run(self) -> None:
        """Ask, and apply the answer."""
        attempt = self._attempt
        try:
            assert attempt.setup is not None, "a submitted attempt has its setup"
            self._setup: Setup = attempt.setup
            self._adapter: RemoteAdapter = setups.adapter_of(self._setup)
        except UnknownAdapter as error:
            logger.error("nobody can ask about it: %s", error)
            await self._later(60.0, answered=False)
            return
        self._line: Line = setups.line_of(self._engine.clients, self._setup, attempt.generator_name)
        try:
            await self._ask()
        except Busy as busy:
            if busy.ours:
                logger.error("generator %s: %s", attempt.generator_name, busy.detail)
            await self._later(self._pause(busy.retry_after), answered=False)
        except StorageRefused:  # the upstream has it still
            logger.warning("the storage takes no result: it is asked for again later")
            await self._later(schedule.for_storage(self._pace))
        except GeneratorError as error:
            await self._failed(error)
        except (DatabaseError, InterfaceError, RedisError):
            raise  # it is left to others
        except Exception:  # whatever an answer led to
            logger.exception("question %d led to something unforeseen", self._attempt.polls)
            await self._failed(NoAnswer("The model service answered with something unreadable."))

    async def _ask(self) -> None:
        attempt = self._attempt
        if self._taken.told and await self._heard():
            return
        if not attempt.upstream_id:
            await self._look_for_it()
        elif attempt.revoked_at is not None and attempt.cancel_sent_at is None:
            await self._cancel()
        elif attempt.polls > schedule.most_polls(self._pace, self._timeout):
            detail = "The model service was asked too often without an end."
            await self._over(GeneratorError(ErrorCode.UPSTREAM_ERROR, detail))
        else:
            await self._apply(await self._adapter.poll(self._line, self._job))

    async def _heard(self) -> bool:
        """Apply what is kept of its upstream; False: nothing is. Few are in memory at once."""
        attempt = self._attempt
        async with self._engine.kept:
            if attempt.webhook_at is None and attempt.revoked_at is None:  # an answer, with files
                await finishing.require_storage(self._engine)
            kept = await self._engine.in_database(_kept_webhook, attempt)
            if kept is None:
                return False
            await self._apply(keeping.read(self._adapter, kept))
            await self._engine.in_database(_forget_webhook, attempt)
        return True

    async def _apply(self, answer: UpstreamAnswer) -> None:
        if not answer.finished:
            await self._still_running(answer)
        elif answer.error is not None:
            await self._over(answer.error)
        else:
            await finishing.finish(self._engine, self._attempt, self._line, answer)

    async def _still_running(self, answer: UpstreamAnswer) -> None:
        if answer.status:
            logger.debug("the upstream says: %s", answer.status)
        if self._attempt.revoked_at is not None:
            await self._later(_STOPPING_PAUSE)
        else:
            await self._later(self._pause(answer.poll_after), answer.progress)

    async def _cancel(self) -> None:
        """Tell the upstream to stop; one that does not answer is told again."""
        if not self._adapter.polls and self._attempt.webhook_at is None:
            logger.warning("no webhook of it ever came: is DARKROOM_WEBHOOK_URL in its reach?")
        await self._adapter.cancel(self._line, self._job)
        await self._engine.in_database(records.cancel_sent, self._attempt)
        await self._later(_STOPPING_PAUSE)

    async def _look_for_it(self) -> None:
        """Find out what became of a submission without an answer, if the upstream can tell."""
        attempt = self._attempt
        if await self._engine.in_database(_being_submitted, attempt):
            await self._later(_STOPPING_PAUSE)
            return
        try:
            found = await self._adapter.find(self._line, self._job)
        except CannotTell:
            await self._over(GeneratorError(ErrorCode.OUTCOME_UNKNOWN))
            return
        if isinstance(found, Submitted):
            delay = self._pause(found.poll_after)
            await self._engine.durably(records.submitted, attempt, found.upstream_id, delay)
        else:
            detail = "The request did not reach the model service."
            await self._over(GeneratorError(ErrorCode.UPSTREAM_UNREACHABLE, detail, retryable=True))

    async def _failed(self, error: GeneratorError) -> None:
        """A question without a usable answer, or a result that cannot be fetched now."""
        attempt = self._attempt
        if error.code is ErrorCode.RESULT_UNUSABLE and not error.retryable:
            await self._over(error)
            return
        logger.warning("no answer to question %d: %s", attempt.polls, error.detail)
        patience = error.patience if isinstance(error, Unheard) else 0.0
        pause = self._pause(None)
        enough = await self._engine.in_database(records.failing, attempt, pause, patience)
        if enough:
            await self._over(GeneratorError(self._code_of(error), error.detail))

    def _code_of(self, error: GeneratorError) -> ErrorCode:
        if not self._attempt.upstream_id and not self._taken.told:
            return ErrorCode.OUTCOME_UNKNOWN
        if isinstance(error, Unheard) or error.code is ErrorCode.RESULT_UNUSABLE:
            return error.code
        # What does not pass is the upstream's fault: such as a job that it does not know any more.
        told = error.code is ErrorCode.UPSTREAM_ERROR and not error.retryable
        return error.code if told else ErrorCode.UPSTREAM_UNREACHABLE

    async def _over(self, error: GeneratorError) -> None:
        def end() -> None:
            outcomes.failed(self._attempt, error.code, error.detail, retryable=error.retryable)

        await self._engine.durably(end)

    async def _later(
        self, delay: float, reached: float | None = None, *, answered: bool = True
    ) -> None:
        await self._engine.later.put(records.Later(self._attempt, delay, reached, answered))

    def _pause(self, hint: float | None) -> float:
        rare = bool(self._setup.settings.get("webhooks", False))
        return schedule.after(
            self._pace,
            self._attempt.polls,
            hint,
            age=self._age,
            known=self._taken.known,
            rare=rare,
        )

    @property
    def _job(self) -> Job:
        return setups.job_of(self._attempt, self._setup, self._age)

    @property
    def _pace(self) -> Pace:
        return pace_of(self._adapter, self._setup.settings)

    @property
    def _timeout(self) -> float:
        task = self._attempt.task
        if task.deadline_at is None or task.started_at is None:
            return task.generator.timeout_seconds
        return (task.deadline_at - task.started_at).total_seconds()


def _kept_webhook(attempt: Attempt) -> bytes | None:
    body = Webhook.objects.filter(attempt_id=attempt.pk).values_list("body", flat=True).first()
    return None if body is None else bytes(body)


def _forget_webhook(attempt: Attempt) -> None:
    Webhook.objects.filter(attempt_id=attempt.pk, attempt__ended_at__isnull=False).delete()


def _being_submitted(attempt: Attempt) -> bool:
    """Whether a process that lives is about to learn the id."""
    beaten = Attempt.objects.values_list("heartbeat_at", flat=True).get(pk=attempt.pk)
    return (database_now() - beaten).total_seconds() < conf.get().lease
