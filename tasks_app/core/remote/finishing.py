"""What an upstream has made becomes a result: fetched, checked, stored, written."""

import asyncio
import logging
from typing import Final

from tasks_app import conf
from tasks_app.core import outcomes
from tasks_app.core.remote import fetching
from tasks_app.core.remote.engine import Engine
from tasks_app.core.remote.lines import Line
from tasks_app.generators.base import Output
from tasks_app.generators.errors import GeneratorError
from tasks_app.generators.remote import Link, UpstreamAnswer, base_url
from tasks_app.generators.upstream import judge
from tasks_app.lifecycle import ErrorCode
from tasks_app.models import Artifact, Attempt
from tasks_app.results import store

logger = logging.getLogger(__name__)

_TRIES: Final = 3
_PAUSE: Final = 1.0
MOST_FILES: Final = 16
"""Of one result; who sends more sends something else than what was asked for."""


async def finish(engine: Engine, attempt: Attempt, line: Line, answer: UpstreamAnswer) -> bool:
    """Make the answer's files the task's result; False when the task had ended otherwise.

    Raises ``GeneratorError``: retryable when a later try may succeed, because the files stay
    where they are.
    """
    if not await engine.in_database(_still_wanted, attempt):
        await engine.durably(outcomes.succeeded, attempt, [])
        return False
    stored: list[Artifact] = []
    won = False
    try:
        async with engine.downloads:
            await _store(engine, attempt, line, answer, stored)
        won = await engine.durably(outcomes.succeeded, attempt, stored)
    finally:
        if not won and stored:
            await engine.in_files(store.discard, stored)
    return won


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
    for output in answer.outputs:
        stored.append(await _saved(engine, attempt, len(stored), output))
    for link in answer.links:
        output = fetching.output_of(await _fetched(engine, line, link))
        stored.append(await _saved(engine, attempt, len(stored), output))
    if not stored:
        raise GeneratorError(ErrorCode.RESULT_UNUSABLE, "The model service returned nothing.")


async def _saved(engine: Engine, attempt: Attempt, position: int, output: Output) -> Artifact:
    return await engine.in_files(store.save, attempt.task_id, attempt.number, position, output)


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
    patient = Line(line.client, line.generator, line.adapter, line.settings, fetching.SECONDS)
    reply = await patient.call("GET", link.url, limit=conf.get().max_artifact_bytes)
    target = reply.headers.get("location")
    if 300 <= reply.status < 400 and target:  # without the credential, and judged
        return await engine.fetcher.fetch(target, trusted)
    if reply.status in (404, 410):
        detail = "The result is not there any more."
        raise GeneratorError(ErrorCode.RESULT_UNUSABLE, detail, retryable=True)
    judge(reply)
    return reply.body
