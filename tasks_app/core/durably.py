"""Getting a decision into the database although the database may be away for a while."""

import logging
import time
from collections.abc import Callable
from typing import Final, TypeVar

from django.db import InterfaceError, OperationalError, close_old_connections, connection

T = TypeVar("T")

logger = logging.getLogger(__name__)

_FIRST_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 2.0
_MAX_TRIES: Final = 1_000


def durably(action: Callable[[], T], *, within: float) -> T:
    """Call ``action`` until the database answers, for at most ``within`` seconds.

    ``action`` must be safe to repeat after a commit whose answer was lost. Raises the last
    database error when the time is over.
    """
    give_up = time.monotonic() + within
    pause = _FIRST_PAUSE
    for _ in range(_MAX_TRIES):
        try:
            close_old_connections()
            return action()
        except (OperationalError, InterfaceError) as error:
            if time.monotonic() + pause > give_up:
                raise
            logger.warning("the database is away, trying again in %.2f s: %s", pause, error)
            connection.close()
            time.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)
    return action()
