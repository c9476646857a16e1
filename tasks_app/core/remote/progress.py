"""Telling readers how far a remote attempt is."""

import logging
from typing import Final

from redis.exceptions import RedisError

from tasks_app.gates import keys
from tasks_app.gates.connection import client
from tasks_app.models import Attempt

logger = logging.getLogger(__name__)

_SECONDS: Final = 120


def tell(attempt: Attempt, fraction: float) -> None:
    """Tell the progress of an attempt, 0.0 to 1.0; without Redis its row tells it."""
    try:
        value = f"{attempt.number}:{int(fraction * 100)}"
        client().set(keys.progress(attempt.task_id), value, ex=_SECONDS)
    except RedisError as error:
        logger.debug("no progress without Redis: %s", error)
