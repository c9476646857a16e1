"""What an upstream has made becomes a result: fetched, checked, stored, written.

A storage that refuses costs time, not what was paid for. The upstream still has most results, so
they are not held here: their attempts are asked about later, and nothing is fetched before the
storage has proved itself. What a synchronous upstream said is nowhere else. It waits in memory
(a full disk may be the database's, too), beyond ``_MOST_HELD`` and at the end of the process in the
database, until the deadline of its task. Meanwhile no worker claims anything: ``core.storing``.
"""

import asyncio
import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final
from uuid import UUID

from django.db import DatabaseError, InterfaceError
from redis.exceptions import RedisError

from tasks_app import conf
from tasks_app.core import outcomes, storing
from tasks_app.core.remote import fetching, keeping
from tasks_app.core.remote.engine import Engine
from tasks_app.core.remote.lines import Line
from tasks_app.generators.base import Output
from tasks_app.generators.errors import GeneratorError
from tasks_app.generators.remote import Link, UpstreamAnswer, base_url
from tasks_app.generators.upstream import judge
from tasks_app.lifecycle import ErrorCode
from tasks_app.models import Artifact, Attempt
from tasks_app.results import store
from tasks_app.results.store import StorageRefused

logger = logging.getLogger(__name__)

_TRIES: Final = 3
_PAUSE: Final = 1.0
MOST_FILES: Final = 16
"""Of one result; who sends more sends something else than what was asked for."""
_FIRST_WAIT: Final = 0.5
_LONGEST_WAIT: Final = 5.0
_MOST_HELD: Final = 64 * 1024 * 1024
"""Bytes of answers that wait for the storage in the memory of one process."""

_held = 0
"""Bytes that wait now. Changed by the event loop only."""


async def finish(engine: Engine, attempt: Attempt, line: Line, answer: UpstreamAnswer) -> bool:
    """Make the answer's files the task's result; False when the task had ended otherwise.

    Raises ``GeneratorError``: retryable when a later try may succeed, because the files stay
    where they are; ``StorageRefused`` when the storage takes nothing now.
    """
    if not await engine.in_database(_still_wanted, attempt):
        await engine.durably(outcomes.succeeded, attempt, [])
        return False
    stored: list[Artifact] = []
    try:
        async with engine.downloads:
            await require_storage(engine)
            await _store(engine, attempt, line, answer, stored)
    except BaseException:
        if stored:
            await engine.in_files(store.discard, stored)
        raise
    return await engine.durably(_succeeded, attempt, stored)


async def require_storage(engine: Engine) -> None:
    """Raise ``StorageRefused`` while the storage is known to take nothing."""
    if not await engine.in_files(_accepting):
        raise StorageRefused


async def finish_only_copy(
    engine: Engine, attempt: Attempt, line: Line, answer: UpstreamAnswer, seconds: float
) -> bool:
    """Make an answer the task's result that nobody can ask for again.

    While the storage refuses it waits, for ``seconds`` until the deadline; False: these are over.
    Files behind links are fetched again for as long as questions may fail. Raises
    ``GeneratorError`` as ``finish`` does, but never ``StorageRefused``.
    """
    try:
        return await _finish_or_wait(engine, attempt, line, answer, time.monotonic() + seconds)
    except asyncio.CancelledError:  # canceled, or the process ends: others go on then
        await _handed_over(engine, attempt, answer)
        raise


async def _finish_or_wait(
    engine: Engine, attempt: Attempt, line: Line, answer: UpstreamAnswer, give_up: float
) -> bool:
    pause, size, failing = _FIRST_WAIT, keeping.size_of(answer), _Failing()
    with _holding(size) as fits:
        while time.monotonic() < give_up:
            try:
                await finish(engine, attempt, line, answer)
                return True
            except StorageRefused:
                logger.warning("the storage takes no result: %d bytes wait for it", size)
                failing = _Failing()
            except GeneratorError as error:  # the links of an answer can be asked for again
                if not error.retryable or failing.long_enough():
                    raise
                logger.warning("a result cannot be fetched now: %s", error.detail)
            ending = engine.ending.is_set()
            if (ending or not fits) and await _handed_over(engine, attempt, answer):
                return True
            await _pause(engine, min(pause, max(0.0, give_up - time.monotonic())))
            pause = min(pause * 2, _LONGEST_WAIT)
    return False


class _Failing:
    """Whether something has failed for as long as questions may; from its first failure on."""

    def __init__(self) -> None:
        self._since: float | None = None

    def long_enough(self) -> bool:
        """Count a failure; True when the first one was long ago."""
        now = time.monotonic()
        self._since = now if self._since is None else self._since
        return now - self._since >= conf.get().poll_failing_seconds


async def _pause(engine: Engine, seconds: float) -> None:
    """Wait so long; not for longer than until the process begins to end."""
    if engine.ending.is_set():
        await asyncio.sleep(seconds)
        return
    with suppress(TimeoutError):
        await asyncio.wait_for(engine.ending.wait(), seconds)


@contextmanager
def _holding(size: int) -> Iterator[bool]:
    """Whether so many bytes more may wait in memory."""
    global _held
    fits = _held + size <= _MOST_HELD
    _held += size
    try:
        yield fits
    finally:
        _held -= size


async def _handed_over(engine: Engine, attempt: Attempt, answer: UpstreamAnswer) -> bool:
    """Let whoever asks upstreams go on with an answer; False: it could not be written down."""
    if keeping.size_of(answer) > keeping.MOST_BYTES:
        return False
    try:
        await engine.in_database(_keep_or_stop, attempt, answer)
    except (DatabaseError, InterfaceError) as error:
        logger.warning("an answer could not be kept in the database: %s", error)
        return False
    return True


def _keep_or_stop(attempt: Attempt, answer: UpstreamAnswer) -> None:
    if not keeping.keep(attempt, answer, _LONGEST_WAIT):
        outcomes.stopped(attempt)


def _succeeded(attempt: Attempt, stored: list[Artifact]) -> bool:
    """Commit it, and delete the files if that came too late.

    One piece of work for a thread: it goes on when its flight is told to stop, and files that a
    commit is about to name must not be deleted then.
    """
    won = outcomes.succeeded(attempt, stored)
    if not won:
        store.discard(stored)
    return won


def _saved(task_id: UUID, attempt: int, position: int, output: Output) -> Artifact:
    try:
        return store.save(task_id, attempt, position, output)
    except StorageRefused:
        storing.refused()
        raise


def _accepting() -> bool:
    try:
        return storing.accepting()
    except RedisError as error:
        logger.warning("could not tell whether the storage refuses: %s", error)
        return True


def _still_wanted(attempt: Attempt) -> bool:
    """Whether the result is worth fetching: nobody has told the attempt to stop."""
    return Attempt.objects.filter(
        pk=attempt.pk, ended_at__isnull=True, revoked_at__isnull=True
    ).exists()


async def _store(
    engine: Engine, attempt: Attempt, line: Line, answer: UpstreamAnswer, stored: list[Artifact]
) -> None:
    if len(answer.outputs) + len(answer.links) > MOST_FILES:
        raise GeneratorError(ErrorCode.RESULT_UNUSABLE, "The result has too many files.")
    where = attempt.task_id, attempt.number
    for output in answer.outputs:
        stored.append(await engine.in_files(_saved, *where, len(stored), output))
    for link in answer.links:
        output = fetching.output_of(await _fetched(engine, line, link), link.seed)
        stored.append(await engine.in_files(_saved, *where, len(stored), output))
    if not stored:
        raise GeneratorError(ErrorCode.RESULT_UNUSABLE, "The model service returned nothing.")


async def _fetched(engine: Engine, line: Line, link: Link) -> bytes:
    """Fetch one file, with a few tries: a result that is there must not be lost to a hiccup."""
    for left in reversed(range(_TRIES)):
        try:
            return await _once(engine, line, link)
        except GeneratorError as error:
            if not left or not error.retryable or error.code is ErrorCode.RESULT_UNUSABLE:
                raise
            await asyncio.sleep(_PAUSE)
    raise AssertionError


async def _once(engine: Engine, line: Line, link: Link) -> bytes:
    trusted = fetching.origin_of(base_url(line.adapter, line.settings))
    if not link.own:
        return await engine.fetcher.fetch(link.url, trusted)
    patient = Line(line.clients, line.generator, line.adapter, line.settings, fetching.SECONDS)
    reply = await patient.call("GET", link.url, limit=conf.get().max_artifact_bytes)
    target = reply.headers.get("location")
    if 300 <= reply.status < 400 and target:  # without the credential, and judged
        return await engine.fetcher.fetch(target, trusted)
    if reply.status in (404, 410):
        detail = "The result is not there any more."
        raise GeneratorError(ErrorCode.RESULT_UNUSABLE, detail, retryable=True)
    judge(reply)
    return reply.body
