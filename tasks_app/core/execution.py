"""Running a claimed local task: generate, store, finish. One call, one ending."""

import logging
from collections.abc import Callable
from typing import Final

from django.db import InterfaceError, OperationalError, connection
from redis import Redis

from tasks_app import conf, logs
from tasks_app.core import outcomes, storing, warm
from tasks_app.core.claim import Claim
from tasks_app.core.durably import durably
from tasks_app.core.heartbeat import Heartbeat
from tasks_app.core.stopping import Reason, Run
from tasks_app.generators.base import GenerationRequest, LocalAdapter
from tasks_app.generators.errors import GeneratorError
from tasks_app.lifecycle import ErrorCode
from tasks_app.models import Artifact
from tasks_app.results import store

logger = logging.getLogger(__name__)

_PATIENCE: Final = 600.0
"""Seconds an ending is tried again while the database is away; longer than any restart."""

Started = Callable[[Run], None]


def run(claim: Claim, redis: Redis, started: Started) -> None:
    """Run one attempt to one of its endings. ``started`` is given the run, to stop it.

    The connection to the database is closed before the generation: it may take minutes, and
    a restart of the database meanwhile must not matter. Database errors that outlast patience
    fly; the sweep then finds the attempt without heartbeat.
    """
    with logs.about(*prompts(claim), **claim.names):
        _run(claim, redis, started)


def prompts(claim: Claim) -> list[str]:
    """Return what the user wrote, which models like to repeat in their errors: not for the log."""
    if conf.get().log_prompts:
        return []
    params = claim.task.params
    return [one for name, one in params.items() if "prompt" in name and isinstance(one, str)]


def _run(claim: Claim, redis: Redis, started: Started) -> None:
    progress = Run(claim.started + claim.generator.timeout_seconds)
    started(progress)
    connection.close()
    stored: list[Artifact] = []
    with Heartbeat(claim, progress, redis):
        ending = _attempted(claim, progress, stored)
        # Still inside the heartbeat: the attempt must not be lost while the database is away.
        if not _ended(claim, ending):
            store.discard(stored)
    logger.info("task %s: attempt %s ended", claim.task.pk, claim.attempt.number)


def _ended(claim: Claim, ending: Callable[[], bool]) -> bool:
    """Write the ending, and return whether it names the stored files.

    An ending that cannot be written, for a reason of its own, is a failure of the attempt: left
    alone, the attempt would hold its slot for a lease, be lost, and be made again.
    """
    try:
        return durably(ending, within=_PATIENCE)
    except (OperationalError, InterfaceError):
        raise
    except Exception:
        logger.exception("task %s: the ending cannot be written", claim.task.pk)
        failure = _failure(claim, GeneratorError(ErrorCode.INTERNAL))
        return durably(failure, within=_PATIENCE)


def _attempted(claim: Claim, progress: Run, stored: list[Artifact]) -> Callable[[], bool]:
    """Generate, and return the ending that fits. Nothing that a model raises gets past here.

    That includes what derives from ``BaseException`` only: SystemExit, KeyboardInterrupt,
    asyncio's CancelledError. What flies after the generation was told to stop is its
    stopping, also where the model's code made another exception of it.
    """
    try:
        _generate(claim, progress, stored)
    except BaseException as error:
        if progress.reason is not None:
            return _halt(claim, progress.reason)
        return _failure(claim, as_generator_error(claim, error))
    return _success(claim, stored)


def as_generator_error(claim: Claim, error: BaseException) -> GeneratorError:
    """Return what the task is told of an error; one that nobody foresaw is logged."""
    if isinstance(error, GeneratorError):
        return error
    logger.error("task %s: the generator failed", claim.task.pk, exc_info=error)
    return GeneratorError(ErrorCode.INTERNAL)


def _generate(claim: Claim, progress: Run, stored: list[Artifact]) -> None:
    """Fill ``stored`` with the artifacts of the outputs, as they come.

    Warming up happens here too, under the heartbeat: loading a model may take minutes.
    """
    adapter = warm.adapter(claim.generator)
    if not isinstance(adapter, LocalAdapter):
        raise TypeError(f"{claim.generator.adapter} does not run in a worker")
    request = GenerationRequest(
        task_id=str(claim.task.pk),
        attempt=claim.attempt.number,
        params=claim.task.params,
        settings=claim.generator.settings,
    )
    for output in adapter.generate(request, progress):
        progress.check()
        stored.append(
            storing.keep(claim.task.pk, claim.attempt.number, len(stored), output, progress)
        )
    progress.check()
    if not stored:
        raise GeneratorError(ErrorCode.RESULT_UNUSABLE, "The generator returned nothing.")


def _success(claim: Claim, stored: list[Artifact]) -> Callable[[], bool]:
    return lambda: outcomes.succeeded(claim.attempt, stored)


def _failure(claim: Claim, error: GeneratorError) -> Callable[[], bool]:
    def end() -> bool:
        outcomes.failed(claim.attempt, error.code, error.detail, retryable=error.retryable)
        return False

    return end


def _halt(claim: Claim, reason: Reason) -> Callable[[], bool]:
    def end() -> bool:
        if reason is Reason.SHUTDOWN:
            outcomes.interrupted(claim.attempt)
        else:
            if reason is Reason.DEADLINE:
                outcomes.timed_out(claim.task)
            outcomes.stopped(claim.attempt)
        return False

    return end
