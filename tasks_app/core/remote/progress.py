"""Telling readers how far a remote attempt is."""

import logging
from collections.abc import Sequence
from typing import Final

from redis.exceptions import RedisError

from tasks_app.gates import keys
from tasks_app.gates.connection import client
from tasks_app.models import Attempt

logger = logging.getLogger(__name__)

_SECONDS: Final = 120


def tell(attempt: Attempt, fraction: float) -> None:
    """Tell the progress of an attempt, 0.0 to 1.0; without Redis its row tells it."""
    tell_all([(attempt, fraction)])


def tell_all(reached: Sequence[tuple[Attempt, float]]) -> None:
    """Tell the progress of attempts, in one exchange."""
    if not reached:
        return
    pipeline = client().pipeline(transaction=False)
    for attempt, fraction in reached:
        value = f"{attempt.number}:{int(fraction * 100)}"
        pipeline.set(keys.progress(attempt.task_id), value, ex=_SECONDS)
    try:
        pipeline.execute()
    except RedisError as error:
        logger.debug("no progress without Redis: %s", error)
