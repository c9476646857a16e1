"""Keeping what was made: a storage that refuses costs time, not generations that were paid for.

A full disk is the work of an hour, and a result that is thrown away is made again at full price.
So an attempt that cannot store its result goes on trying, and meanwhile no worker claims anything:
the next result would be refused as well. The storage has to prove itself before claims go on.
How results of upstreams wait is in ``remote.finishing``.
"""

import logging
import time
from collections.abc import Callable
from typing import Final
from uuid import UUID

from redis.exceptions import RedisError

from tasks_app.core.stopping import Run
from tasks_app.gates import refusals
from tasks_app.generators.base import Output
from tasks_app.models import Artifact
from tasks_app.results import store
from tasks_app.results.store import StorageRefused

logger = logging.getLogger(__name__)

_PATIENCE: Final = 600.0
"""Seconds until an attempt gives up; its deadline may be earlier."""
_MAX_TRIES: Final = 1_000
_FIRST_PAUSE: Final = 0.2
_LONGEST_PAUSE: Final = 5.0
_LOOK: Final = 0.1


def keep(task_id: UUID, attempt: int, position: int, output: Output, run: Run) -> Artifact:
    """Check and store one output, again and again while the storage refuses.

    Raises ``GeneratorError`` as ``store.save`` does, and ``Stopped`` when it is time to stop.
    """
    give_up, pause = time.monotonic() + _PATIENCE, _FIRST_PAUSE
    for tries in range(_MAX_TRIES):
        try:
            artifact = store.save(task_id, attempt, position, output)
        except StorageRefused:
            refused()
            if time.monotonic() + pause > give_up:
                raise
            _wait(pause, run)
            pause = min(pause * 2, _LONGEST_PAUSE)
        else:
            if tries:
                logger.info("task %s: stored at try %d", task_id, tries + 1)
                _quietly(refusals.forget)
            return artifact
    return store.save(task_id, attempt, position, output)


def refused() -> None:
    """Say that the storage has refused a result, so that no worker claims anything meanwhile."""
    _quietly(refusals.note)


def accepting() -> bool:
    """Whether a result could be stored: nothing was refused, or the storage works again.

    Raises ``RedisError``.
    """
    if not refusals.known():
        return True
    if not refusals.may_look():
        return False
    try:
        store.probe()
    except StorageRefused:
        refusals.note()
        return False
    logger.info("the storage of results accepts again")
    refusals.forget()
    return True


def _wait(seconds: float, run: Run) -> None:
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        run.check()
        time.sleep(min(_LOOK, left))


def _quietly(action: Callable[[], None]) -> None:
    try:
        action()
    except RedisError as error:
        logger.warning("could not tell whether the storage refuses: %s", error)
